"""Warnings that somebody outside can cause at will: said now and then, not as often as they happen."""

from __future__ import annotations

import logging

from rebalance_agent.clock import Clock

__all__ = ["AGAIN_SECONDS", "RateLimitedLog"]

AGAIN_SECONDS = 10.0
"""Least time between two warnings of a kind: clients that are refused come again several times a second."""


class RateLimitedLog:
    """Warnings by kind; what was left out is counted with the next one that is said."""

    def __init__(self, log: logging.Logger, clock: Clock) -> None:
        """Nothing has been said yet."""
        self._log, self._clock = log, clock
        self._said: dict[str, tuple[float, int]] = {}

    def warn(self, kind: str, text: str, *values: object) -> None:
        """Log ``text`` with ``values``, or keep quiet about it; ``kind`` is of a closed set."""
        now = self._clock.monotonic()
        last, left_out = self._said.get(kind, (None, 0))
        if last is not None and now - last < AGAIN_SECONDS:
            self._said[kind] = (last, left_out + 1)
            return
        self._said[kind] = (now, 0)
        more = f" ({left_out} more of this kind were not told)" if left_out else ""
        self._log.warning(text + more, *values)
