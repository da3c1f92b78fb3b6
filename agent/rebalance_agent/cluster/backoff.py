"""Exponential back-off with jitter, so that agents do not retry in step."""

from __future__ import annotations

import random

__all__ = ["Backoff"]


class Backoff:
    """Delays in seconds that double from ``first_s`` to ``max_s``, each drawn from the upper half of its range."""

    def __init__(self, first_s: float = 0.2, max_s: float = 15.0, rng: random.Random | None = None) -> None:
        """Start without failures."""
        self._first_s = first_s
        self._max_s = max_s
        self._rng = rng or random.Random()  # noqa: S311 - jitter is not a secret
        self._failures = 0

    def next(self) -> float:
        """Count one more failure; return the seconds to wait before the next attempt."""
        # The exponent is bounded: 2.0 ** 1024 overflows.
        span = min(self._max_s, self._first_s * 2.0 ** min(self._failures, 30))
        self._failures += 1
        return span * self._rng.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Drop the failures: an attempt succeeded."""
        self._failures = 0
