"""Limits of CPU time and memory for one input; inputs that never return are ended."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fuzz.target import MB, Target
from support.memory import traced_memory

__all__ = ["HANGING_S", "TooDearError", "in_time", "taken"]

HANGING_S = 120
"""Wall-clock limit for an input that never returns; `Target.seconds_max` is the actual limit."""

HEADROOM_BYTES = 64 * MB
"""Growth of the process in bytes that is due to no input: code loaded at first use, freed memory kept by the
allocator, and the fuzzer's own data."""


class TooDearError(AssertionError):
    """An input used more time or memory than its target allows."""


def taken(target: Target, data: bytes, *, weigh: bool = False) -> None:
    """Pass ``data`` to the target, and check its limits.

    Memory: an input may raise the process's peak by at most its bound and `HEADROOM_BYTES`; with ``weigh``, it may also
    not allocate more than its bound, which is slow to measure.

    Raises:
        TooDearError: it used too much. Any other exception is a fault of the target.
    """
    if weigh:
        _weighed(target, data)
        return
    cpu = time.process_time if target.threaded else time.thread_time
    before, begun = _peak_bytes(), cpu()
    target.take(data)
    seconds, grown = cpu() - begun, _peak_bytes() - before
    if seconds > target.seconds_max:
        raise TooDearError(f"{len(data)} bytes took {seconds:.2f} s of CPU, more than {target.seconds_max}")
    if grown > _bytes_max(target, data) + HEADROOM_BYTES:
        raise TooDearError(f"{len(data)} bytes let the process grow by {grown} bytes of memory")


def _peak_bytes() -> int:
    """The highest resident memory of the process so far, as Linux counts it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _bytes_max(target: Target, data: bytes) -> int:
    return target.bytes_max + target.bytes_per_byte * len(data)


def _weighed(target: Target, data: bytes) -> None:
    """Measure after one warm-up call, so that caches filled at first use do not count."""
    taken(target, data)
    with traced_memory() as used:
        target.take(data)
        peak = used()[1]
    if peak > (most := _bytes_max(target, data)):
        raise TooDearError(f"{len(data)} bytes took {peak} bytes of memory, more than {most}")


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Ends the block after a time limit; in the main thread only. A previous alarm (of a test) continues afterwards.

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
