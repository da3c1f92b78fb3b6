"""Logs changes of readiness: one line when a part fails, one when the part recovers, and one when all parts work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

import structlog

from rebalance_agent.errors import check_hint
from rebalance_agent.http.health import STARTING, Readiness
from rebalance_agent.runtime.watch.reachability import CLUSTER

__all__ = ["LoggedHealth"]


class LoggedHealth:
    """Records the parts' state in a `Readiness`, and logs changes. Thread-safe."""

    def __init__(self, readiness: Readiness, reconnected: Callable[[], None], role: str = "") -> None:
        """``reconnected`` is called when the last failed part works again; ``role``: see `check_hint`."""
        self._readiness = readiness
        self._reconnected = reconnected
        self._role = role
        self._lock = threading.Lock()
        self._failed: set[str] = set()
        self._busy: set[str] = set()
        self._all_worked = False
        self._degraded: set[str] = set()
        self._log = structlog.get_logger("rebalance_agent.health")

    def starting(self, parts: Iterable[str]) -> None:
        """Record ``parts`` as not ready yet, without a log line."""
        for part in parts:
            self._readiness.unready(part, STARTING)

    def ready(self, part: str) -> None:
        """Record that ``part`` works."""
        self._readiness.ready(part)
        with self._lock:
            failed, last = part in self._failed, self._failed == {part}
            self._failed.discard(part)
            self._busy.discard(part)
            all_work = not self._all_worked and self._readiness.is_ready
            self._all_worked = self._all_worked or all_work
        if failed:
            self._log.info("recovered", part=part)
        if last:
            self._reconnected()
        if all_work:
            self._log.info("ready")

    def unready(self, part: str, reason: str) -> None:
        """Record that ``part`` does not work, and why."""
        self._readiness.unready(part, reason)
        with self._lock:
            if part in self._failed:
                return
            self._failed.add(part)
        hint = {"hint": check_hint(self._role)} if part == CLUSTER else {}
        self._log.warning("not_ready", part=part, reason=reason, **hint)

    def busy(self, part: str, doing: str) -> None:
        """Record that ``part`` is not ready because it is busy ``doing`` something, as after each start."""
        self._readiness.unready(part, doing)
        with self._lock:
            if part in self._failed | self._busy:
                return
            self._busy.add(part)
            self._all_worked = False
        self._log.info("not_ready_yet", part=part, reason=doing)

    def degraded(self, modes: Mapping[str, str | None], commands: Mapping[str, str]) -> None:
        """Record degraded ``modes``: name -> reason, None if off; ``commands``: name -> command to end the mode."""
        self._readiness.degraded(modes)
        with self._lock:
            now = {mode for mode, reason in modes.items() if reason is not None}
            begun, ended, self._degraded = now - self._degraded, self._degraded - now, now
        for mode in sorted(begun):
            self._log.warning("degraded", mode=mode, reason=modes[mode], command=commands.get(mode, ""))
        for mode in sorted(ended):
            self._log.info("degraded_no_longer", mode=mode)
