"""Tunes Python's garbage collector, glibc's allocator and Python's lock for a process that runs only the agent."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = [
    "GIVE_BACK_EVERY_S",
    "GROWN_BYTES",
    "LOCK_S",
    "LOOK_AT_ALL_EVERY_S",
    "give_back",
    "lock_passed_on_soon",
    "look_at_all",
    "older_objects_kept",
    "return_grown_blocks",
    "tuned_memory",
]

YOUNG_OBJECTS_MAX = 20_000
"""Net new objects between two runs of Python's garbage collector. One batch of records allocates more than the default,
700. With this default, the collector scanned all groups repeatedly: a quarter of the time to catch up."""

YOUNG_RUNS_MAX = 3
"""Runs of the collector over the newest objects before a run over all survivors, which takes about 20 ms."""

LOOK_AT_ALL_EVERY_S = 3_600.0
"""Seconds between runs over all objects (`look_at_all`): for 10,000 groups, a run stops all threads for 1 s."""

LARGE_BYTES = 1024 * 1024
"""Smallest block, in bytes, that is returned to the system when it is freed. By default glibc keeps up to 64 MB of
freed blocks for each thread that ever built a page of metrics."""

GROWN_BYTES = 320 * 1024
"""The same size for a process whose large blocks grow step by step, such as the frames of a gateway: in glibc's heap,
they leave gaps behind. It is above the 256 KiB of one read of a connection, which would become slower."""

ARENAS_MAX = 2
"""Maximum number of glibc's heaps (arenas). By default nearly each of about fifty threads has its own arena (at most
eight per core), and no arena can use the free memory of another arena."""

GIVE_BACK_EVERY_S = 15.0
"""Seconds between calls of `give_back`: a call takes some milliseconds, and returns tens of MB after a start."""

LOCK_S = 0.001
"""Seconds after which a thread passes Python's lock on to one that waits; the default is 5 ms. Compression, sockets and
files release the lock, so the tracker's thread waits for it after each such call."""

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


@contextmanager
def tuned_memory() -> Iterator[None]:
    """Tune the process's memory: collect more rarely, skip imported objects, return large blocks to the system."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, *before[1:])
    _tune()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def older_objects_kept() -> Iterator[None]:
    """Collect garbage only among newer objects; older objects are collected only when `look_at_all` is called.

    This is for a process with millions of long-lived objects: each run over all of them stops every thread, for a
    second if there are 10,000 groups. Nearly all objects are freed without the collector, as soon as nothing refers to
    them.
    """
    before = gc.get_threshold()
    gc.set_threshold(before[0], YOUNG_RUNS_MAX, *before[2:])
    gc.callbacks.append(_keep_survivors)
    try:
        yield
    finally:
        gc.callbacks.remove(_keep_survivors)
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def lock_passed_on_soon() -> Iterator[None]:
    """Pass Python's lock on after `LOCK_S`, for a process with several busy threads."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(LOCK_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def look_at_all() -> None:
    """Free reference cycles among all objects, including older ones."""
    gc.unfreeze()
    gc.collect()


def _keep_survivors(phase: str, run: dict[str, Any]) -> None:
    """Exclude surviving objects from later runs, except the newest: most are soon freed, so they get another run."""
    if phase == "stop" and run["generation"] > 0:
        gc.freeze()


def give_back() -> None:
    """Return free memory to the system (glibc's ``malloc_trim``)."""
    with suppress(AttributeError, OSError, TypeError):  # the C library is not glibc
        ctypes.CDLL(None).malloc_trim(0)


def return_grown_blocks() -> None:
    """Return blocks of `GROWN_BYTES` or more to the system when they are freed; call it after `tuned_memory`."""
    _set_malloc(_M_MMAP_THRESHOLD, GROWN_BYTES)


def _tune() -> None:
    _set_malloc(_M_MMAP_THRESHOLD, LARGE_BYTES)
    _set_malloc(_M_ARENA_MAX, ARENAS_MAX)


def _set_malloc(option: int, value: int) -> None:
    with suppress(AttributeError, OSError, TypeError):  # the C library is not glibc
        ctypes.CDLL(None).mallopt(option, value)
