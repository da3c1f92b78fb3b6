"""Which parts of the process work: the state behind /healthz and /readyz."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

__all__ = ["REASON_MAX", "STARTING", "Readiness"]

REASON_MAX = 500
"""Characters of a reason: one line for a person, not a client library's whole story."""

STARTING = "starting"
"""Reason of a part that has not reported yet."""


class Readiness:
    """Parts of the process by name, each ready or not with a reason. Thread-safe."""

    def __init__(self, parts: Iterable[str] = ()) -> None:
        """Every part begins as not ready, because it is still starting."""
        self._lock = threading.Lock()
        self._reasons: dict[str, str | None] = dict.fromkeys(parts, STARTING)
        self._modes: dict[str, str | None] = {}

    def ready(self, part: str) -> None:
        """The part works."""
        with self._lock:
            self._reasons[part] = None

    def unready(self, part: str, reason: str) -> None:
        """The part does not work, in one line why."""
        with self._lock:
            self._reasons[part] = _line(reason)

    def degraded(self, modes: Mapping[str, str | None]) -> None:
        """Of each degraded mode by name why it holds, or None where it does not. The process is ready all the same."""
        with self._lock:
            self._modes.update({mode: None if reason is None else _line(reason) for mode, reason in modes.items()})

    def reasons(self) -> Mapping[str, str | None]:
        """Part -> None where it works, else why not; in the order of their names."""
        with self._lock:
            return dict(sorted(self._reasons.items()))

    def modes(self) -> Mapping[str, str | None]:
        """Degraded mode -> why it holds, None where it does not; in the order of their names."""
        with self._lock:
            return dict(sorted(self._modes.items()))

    @property
    def is_ready(self) -> bool:
        """Whether every part works."""
        return not any(self.reasons().values())


def _line(reason: str) -> str:
    return " ".join(reason.split())[:REASON_MAX] or "unknown"
