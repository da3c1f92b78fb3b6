"""What one input may cost: CPU, always; memory, of some of them, for looking is slow; and it must come back at all."""

from __future__ import annotations

import signal
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

from fuzz.target import Target

__all__ = ["HANGING_S", "TooDearError", "in_time", "taken"]

HANGING_S = 120
"""A wall-clock end for what never comes back; `Target.seconds_max` is the limit that is meant."""


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
    cpu = time.process_time if target.threaded else time.thread_time
    begun = cpu()
    target.take(data)
    seconds = cpu() - begun
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


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Ends the block after so long; in the main thread alone. An alarm from before it (a test's) goes on behind it.

    Raises:
        TooDearError: it took longer.
    """

    def ended(_number: int, _frame: object) -> None:
        raise TooDearError(f"did not come back within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ended)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        rest, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (seconds - rest)))
