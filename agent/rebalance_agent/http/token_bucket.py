"""Limits a rate with a token bucket: a number of events per second, with bursts."""

from __future__ import annotations

import threading

from rebalance_agent.clock import Clock

__all__ = ["TokenBucket"]


class TokenBucket:
    """A bucket of tokens that refills at a constant rate. It starts full. Thread-safe."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        """``rate`` tokens are added per second, up to ``burst``."""
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._tokens, self._at = float(burst), clock.monotonic()

    def take(self, number: int) -> float:
        """Take ``number`` tokens and return 0, or take none and return the seconds until there are enough tokens."""
        with self._lock:
            now = self._clock.monotonic()
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
            self._at = now
            if self._tokens < number:
                return (number - self._tokens) / self._rate
            self._tokens -= number
            return 0.0

    def put_back(self, number: int) -> None:
        """Return ``number`` tokens that `take` took, because another limit refused the work."""
        with self._lock:
            self._tokens = min(self._burst, self._tokens + number)
