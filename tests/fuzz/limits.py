"""What one input may cost: CPU of the thread that takes it, always; memory, of some of them, for looking is slow."""

from __future__ import annotations

import time
import tracemalloc

from fuzz.target import Target

__all__ = ["TooDearError", "taken"]


class TooDearError(AssertionError):
    """An input took more than its target allows."""


def taken(target: Target, data: bytes, *, weigh: bool = False) -> None:
    """Give ``data`` to the target, and hold it to its limits; ``weigh``: its memory, too.

    Raises:
        TooDearError: it took too much. Whatever else comes out is the target's fault.
    """
    if weigh:
        _weighed(target, data)
        return
    begun = time.thread_time()
    target.take(data)
    seconds = time.thread_time() - begun
    if seconds > target.seconds_max:
        raise TooDearError(f"{len(data)} bytes took {seconds:.2f} s of CPU, more than {target.seconds_max}")


def _weighed(target: Target, data: bytes) -> None:
    """Once before, so that what is made at first use and kept is not counted."""
    taken(target, data)
    tracemalloc.start()
    try:
        target.take(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    most = target.bytes_max + target.bytes_per_byte * len(data)
    if peak > most:
        raise TooDearError(f"{len(data)} bytes took {peak} bytes of memory, more than {most}")
