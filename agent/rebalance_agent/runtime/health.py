"""Readiness that is also told in the log: once when a part fails, once when it works again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import structlog

from rebalance_agent.exposition.health import STARTING, Readiness

__all__ = ["LoggedHealth"]


class LoggedHealth:
    """Writes to ``readiness``; ``reconnected`` is called when the last part that had failed works again."""

    def __init__(self, readiness: Readiness, reconnected: Callable[[], None]) -> None:
        """No part has failed yet."""
        self._readiness = readiness
        self._reconnected = reconnected
        self._lock = threading.Lock()
        self._failed: set[str] = set()
        self._log = structlog.get_logger("rebalance_agent.health")

    def starting(self, parts: Iterable[str]) -> None:
        """These parts have yet to report."""
        for part in parts:
            self._readiness.unready(part, STARTING)

    def ready(self, part: str) -> None:
        """``part`` works."""
        self._readiness.ready(part)
        with self._lock:
            if part not in self._failed:
                return
            self._failed.remove(part)
            last = not self._failed
        self._log.info("recovered", part=part)
        if last:
            self._reconnected()

    def unready(self, part: str, reason: str) -> None:
        """``part`` does not work."""
        self._readiness.unready(part, reason)
        with self._lock:
            if part in self._failed:
                return
            self._failed.add(part)
        self._log.warning("not_ready", part=part, reason=reason)
