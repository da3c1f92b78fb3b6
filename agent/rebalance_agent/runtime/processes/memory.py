"""How Python and the C library keep memory, in a process that is all ours: some knobs are better turned than left."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["GIVE_BACK_EVERY_S", "all_ours", "give_back"]

YOUNG_OBJECTS_MAX = 20_000
"""How many more objects come to be than go between two looks of Python's collector. Its 700 are fewer than a batch of
records has, so that it looked through all groups again and again: a quarter of what catching up cost."""

LARGE_BYTES = 1024 * 1024
"""Blocks from this size on go back to the system when they are freed. Left alone, glibc keeps up to 64 MB of them for
each thread that ever joined a page of metrics."""

ARENAS_MAX = 2
"""Heaps of the C library. Left alone, it makes one for nearly each of our fifty threads, up to eight for each core,
and what is free in one is of no use in another."""

GIVE_BACK_EVERY_S = 15.0
"""How often what is free goes back to the system: some milliseconds of work, for tens of megabytes after a start."""

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


@contextmanager
def all_ours() -> Iterator[None]:
    """Look for garbage less often and never among what was imported; give large blocks back. For a whole process."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, *before[1:])
    _tune()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def give_back() -> None:
    """Return what is free to the system."""
    with suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def _tune() -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # another C library than glibc
    mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
    mallopt(_M_ARENA_MAX, ARENAS_MAX)
