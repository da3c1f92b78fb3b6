"""The interface by which parts of a process report whether they work; `http.health` keeps the reports."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Health"]


class Health(Protocol):
    """Readiness by part. Methods return at once and may be called from any thread."""

    def ready(self, part: str) -> None:
        """``part`` works."""
        ...

    def unready(self, part: str, reason: str) -> None:
        """``part`` does not work, for ``reason`` (one line for an operator)."""
        ...

    def busy(self, part: str, doing: str) -> None:
        """``part`` is not ready, and nothing failed: it is ``doing`` something first (one line for an operator)."""
        ...
