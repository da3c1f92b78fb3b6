"""Names groups that are over a budget: a few at once, each for minutes, so that an alert can be about one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable

__all__ = ["NAMED_MAX", "NAMED_MS", "RecentNames"]

NAMED_MAX = 20
"""Groups that are named at once. The first ones stay named while they are seen: an alert is about one group for
minutes."""

NAMED_MS = 300_000
"""How long (ms) a group is named after it was seen last: alerts are evaluated meanwhile."""


class RecentNames:
    """The names of up to `NAMED_MAX` groups that were seen lately, by any key of theirs. Times are milliseconds."""

    def __init__(self) -> None:
        """Start without names."""
        self._seen: dict[Hashable, tuple[str, int]] = {}

    def see(self, key: Hashable, now_ms: int, name: Callable[[], str | None]) -> None:
        """See a group again, or name it if there is room; ``name`` is called only then, and None is not named."""
        if entry := self._seen.get(key):
            self._seen[key] = entry[0], now_ms
            return
        if len(self._seen) >= NAMED_MAX:
            self._forget(now_ms)
        if len(self._seen) < NAMED_MAX and (text := name()) is not None:
            self._seen[key] = text, now_ms

    def names(self, now_ms: int) -> list[str]:
        """Return the groups that are named now, sorted."""
        self._forget(now_ms)
        return sorted(name for name, _ in self._seen.values())

    def _forget(self, now_ms: int) -> None:
        self._seen = {key: seen for key, seen in self._seen.items() if seen[1] >= now_ms - NAMED_MS}
