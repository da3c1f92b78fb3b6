"""The interface by which parts of a process report whether they work; `http.health` keeps the reports."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Health"]


class Health(Protocol):
    """Readiness by part. Methods return at once and may be called from any thread."""

    def ready(self, part: str) -> None:
        """Record that ``part`` works."""
        ...

    def unready(self, part: str, reason: str) -> None:
        """Record that ``part`` does not work, with the ``reason`` (one line for an operator)."""
        ...

    def busy(self, part: str, doing: str) -> None:
        """Record that ``part`` is not ready, without a failure, since it is ``doing`` other work (one line of text)."""
        ...
