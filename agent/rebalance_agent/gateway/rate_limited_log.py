"""A log for warnings that clients can cause at any rate: each kind is logged at most once per `AGAIN_SECONDS`."""

from __future__ import annotations

import logging

from rebalance_agent.clock import Clock

__all__ = ["AGAIN_SECONDS", "RateLimitedLog"]

AGAIN_SECONDS = 10.0
"""Shortest time (seconds) between warnings of the same kind: refused clients try again several times a second."""


class RateLimitedLog:
    """Logs warnings by kind. A warning contains the number of suppressed earlier warnings of its kind."""

    def __init__(self, log: logging.Logger, clock: Clock) -> None:
        """Log to ``log``; take the time from ``clock``."""
        self._log, self._clock = log, clock
        self._last_logged: dict[str, tuple[float, int]] = {}

    def warn(self, kind: str, text: str, *values: object) -> None:
        """Log ``text`` with ``values``, or count it as suppressed; ``kind`` must be from a fixed set."""
        now = self._clock.monotonic()
        last, left_out = self._last_logged.get(kind, (None, 0))
        if last is not None and now - last < AGAIN_SECONDS:
            self._last_logged[kind] = (last, left_out + 1)
            return
        self._last_logged[kind] = (now, 0)
        more = f" ({left_out} more of this kind were not logged)" if left_out else ""
        self._log.warning(text + more, *values)
