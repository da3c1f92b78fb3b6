"""Time as an argument: the only module that asks the operating system what time it is.

Everything else takes a `Clock` (effects) or plain epoch milliseconds (pure core), so that tests decide the time.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["Clock", "FakeClock", "SystemClock"]


class Clock(Protocol):
    """Where a part of the program gets its time from."""

    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since the Unix epoch, as Kafka's record timestamps are."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean something."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()


class FakeClock:
    """A clock that moves only when told to. Thread-safe, so that code under test may read it from its own threads."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        """Start at ``now_ms`` (epoch milliseconds) with a monotonic reading of zero."""
        self._lock = threading.Lock()
        self._start_ms = now_ms
        self._elapsed_ms = 0

    def now_ms(self) -> int:
        """Epoch milliseconds at the fake now."""
        with self._lock:
            return self._start_ms + self._elapsed_ms

    def monotonic(self) -> float:
        """Seconds advanced so far."""
        with self._lock:
            return self._elapsed_ms / 1000

    def advance(self, milliseconds: int) -> None:
        """Move both readings forward."""
        with self._lock:
            self._elapsed_ms += milliseconds
