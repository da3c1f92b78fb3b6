"""Tunes Python's garbage collector and glibc's allocator for a process that runs only the agent."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["GIVE_BACK_EVERY_S", "LOOK_AT_ALL_EVERY_S", "give_back", "look_at_all", "older_objects_kept", "tuned_memory"]

YOUNG_OBJECTS_MAX = 20_000
"""Net new objects between two runs of Python's garbage collector. With the default of 700, less than one batch of
records allocates, the collector scanned all groups repeatedly, which took a quarter of the time of catching up."""

YOUNG_RUNS_MAX = 3
"""Runs of the collector over the newest objects before one over all that survived these; that one takes some 20 ms."""

LOOK_AT_ALL_EVERY_S = 3_600.0
"""Seconds between two runs over all objects (`look_at_all`): a second for 10,000 groups, in which nothing else runs."""

LARGE_BYTES = 1024 * 1024
"""Smallest block, in bytes, that goes back to the system when it is freed. By default glibc keeps up to 64 MB of them
for each thread that ever built a page of metrics."""

ARENAS_MAX = 2
"""Heaps (arenas) of glibc. By default nearly each of some fifty threads has one, up to eight per core, and none can use
free memory of another."""

GIVE_BACK_EVERY_S = 15.0
"""Seconds between two calls of `give_back`: some milliseconds of work, for tens of megabytes after a start."""

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


@contextmanager
def tuned_memory() -> Iterator[None]:
    """Tune memory of the whole process: rarer collections, none among imported objects, large blocks given back."""
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
    """Collect garbage among newer objects only, and among older ones when `look_at_all` is called.

    For a process with millions of objects that live long: each run over all of them stops every thread, for a second
    where there are 10,000 groups. Nearly all objects are freed at once, when nothing refers to them any more.
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


def look_at_all() -> None:
    """Free reference cycles among all objects, including older ones."""
    gc.unfreeze()
    gc.collect()


def _keep_survivors(phase: str, run: dict[str, Any]) -> None:
    """Exclude surviving objects from later runs; the newest objects, most of which die soon, get another run first."""
    if phase == "stop" and run["generation"] > 0:
        gc.freeze()


def give_back() -> None:
    """Return free memory to the system (glibc's ``malloc_trim``)."""
    with suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def _tune() -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # another C library than glibc
    mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
    mallopt(_M_ARENA_MAX, ARENAS_MAX)
