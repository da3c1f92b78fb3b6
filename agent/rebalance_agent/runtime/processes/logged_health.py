"""Readiness that is also told in the log: once when a part fails, once when it works again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

import structlog

from rebalance_agent.http.health import STARTING, Readiness

__all__ = ["LoggedHealth"]


class LoggedHealth:
    """Writes to ``readiness``; ``reconnected`` is called when the last part that had failed works again."""

    def __init__(self, readiness: Readiness, reconnected: Callable[[], None]) -> None:
        """No part has failed yet."""
        self._readiness = readiness
        self._reconnected = reconnected
        self._lock = threading.Lock()
        self._failed: set[str] = set()
        self._degraded: set[str] = set()
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

    def degraded(self, modes: Mapping[str, str | None], commands: Mapping[str, str]) -> None:
        """Of each degraded mode why it holds, or None; ``commands`` mend those that do."""
        self._readiness.degraded(modes)
        with self._lock:
            now = {mode for mode, reason in modes.items() if reason is not None}
            begun, ended, self._degraded = now - self._degraded, self._degraded - now, now
        for mode in sorted(begun):
            self._log.warning("degraded", mode=mode, reason=modes[mode], command=commands.get(mode, ""))
        for mode in sorted(ended):
            self._log.info("degraded_no_longer", mode=mode)
