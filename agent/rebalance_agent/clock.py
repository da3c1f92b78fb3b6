"""Clocks, passed in as arguments: the only module that reads the time of the operating system.

All other code takes a `Clock`, or epoch milliseconds where it is pure, so that tests control the time.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["Clock", "FakeClock", "SystemClock"]


class Clock(Protocol):
    """Source of wall-clock and monotonic time."""

    def now_ms(self) -> int:
        """Return wall-clock time in milliseconds since the Unix epoch, the unit of Kafka's record timestamps."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back; only differences between two readings are meaningful."""
        ...

    def thread_time(self) -> float:
        """Return seconds of processor time that the calling thread used; it does not advance while others run."""
        ...


class SystemClock:
    """The clock of the operating system."""

    def now_ms(self) -> int:
        """Return wall-clock time in milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds of the system's monotonic clock."""
        return time.monotonic()

    def thread_time(self) -> float:
        """Return seconds of processor time that the calling thread used."""
        return time.thread_time()


class FakeClock:
    """A clock for tests: it moves only when `advance` is called. Thread-safe."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        """Start at ``now_ms`` (epoch milliseconds) with a monotonic reading of zero."""
        self._lock = threading.Lock()
        self._start_ms = now_ms
        self._elapsed_ms = 0

    def now_ms(self) -> int:
        """Return the fake wall-clock time in milliseconds since the Unix epoch."""
        with self._lock:
            return self._start_ms + self._elapsed_ms

    def monotonic(self) -> float:
        """Return the seconds by which the clock was advanced so far."""
        with self._lock:
            return self._elapsed_ms / 1000

    def thread_time(self) -> float:
        """Return `monotonic`: each step of the clock counts as work."""
        return self.monotonic()

    def advance(self, milliseconds: int) -> None:
        """Move the wall clock and the monotonic clock forward by ``milliseconds``."""
        with self._lock:
            self._elapsed_ms += milliseconds
