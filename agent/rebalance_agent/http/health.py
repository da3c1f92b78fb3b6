"""Records readiness: which parts of the process work, for /readyz."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

__all__ = ["REASON_MAX", "STARTING", "Readiness"]

REASON_MAX = 500
"""Maximum number of characters of a reason, one line for a user; client libraries report paragraphs."""

STARTING = "starting"
"""Reason of a part that has not reported yet."""


class Readiness:
    """The state of each part of the process by name: ready, or not ready with a reason. Thread-safe."""

    def __init__(self, parts: Iterable[str] = ()) -> None:
        """At first, no part is ready; the reason is `STARTING`."""
        self._lock = threading.Lock()
        self._reasons: dict[str, str | None] = dict.fromkeys(parts, STARTING)
        self._modes: dict[str, str | None] = {}

    def ready(self, part: str) -> None:
        """Record that ``part`` works."""
        with self._lock:
            self._reasons[part] = None

    def unready(self, part: str, reason: str) -> None:
        """Record that ``part`` does not work; ``reason`` is shortened to one line."""
        with self._lock:
            self._reasons[part] = _line(reason)

    def busy(self, part: str, doing: str) -> None:
        """Record that ``part`` is not ready because it is busy ``doing`` something."""
        self.unready(part, doing)

    def degraded(self, modes: Mapping[str, str | None]) -> None:
        """Record degraded modes: name -> reason, None if the mode is off. These modes do not affect readiness."""
        with self._lock:
            self._modes.update({mode: None if reason is None else _line(reason) for mode, reason in modes.items()})

    def reasons(self) -> Mapping[str, str | None]:
        """Return part -> None if the part works, else why it does not work; sorted by name."""
        with self._lock:
            return dict(sorted(self._reasons.items()))

    def modes(self) -> Mapping[str, str | None]:
        """Return degraded mode -> reason, None if the mode is off; sorted by name."""
        with self._lock:
            return dict(sorted(self._modes.items()))

    @property
    def is_ready(self) -> bool:
        """Whether every part works."""
        return not any(self.reasons().values())


def _line(reason: str) -> str:
    return " ".join(reason.split())[:REASON_MAX] or "unknown"
