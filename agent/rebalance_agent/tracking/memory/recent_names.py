"""Names a few groups that exceed a budget, each for some minutes, so that an alert can name them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable

__all__ = ["NAMED_MAX", "NAMED_MS", "RecentNames"]

NAMED_MAX = 20
"""Maximum number of groups named at once. The first ones stay named while they exceed the budget, so that alerts do not
flap."""

NAMED_MS = 300_000
"""How long (ms) a group is named after it was last seen: long enough for alerts to be evaluated."""


class RecentNames:
    """The names of up to `NAMED_MAX` recently seen groups, each identified by any key. Times are milliseconds."""

    def __init__(self) -> None:
        """Start without names."""
        self._seen: dict[Hashable, tuple[str, int]] = {}

    def see(self, key: Hashable, now_ms: int, name: Callable[[], str | None]) -> None:
        """Record that a group was seen; name it if there is room (only then is ``name`` called; None is not named)."""
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
