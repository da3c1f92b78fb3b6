"""Decides of which groups a fact is read next that rarely changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

__all__ = ["GROUPS_MAX", "LOOK_EVERY_S", "REFRESH_S", "RETRY_S", "ReadSchedule"]

LOOK_EVERY_S = 15.0
"""Seconds between checks for groups whose fact is due; the fact of a new group is read this soon."""

REFRESH_S = 300.0
"""Seconds between two reads of a group's fact."""

RETRY_S = 60.0
"""Seconds until a group's fact is read again after a failure."""

GROUPS_MAX = 20
"""Maximum number of groups that one check reads, with one request each."""

_NOW = float("-inf")


class ReadSchedule:
    """When the fact of each group is due, by a monotonic clock (s). Not thread-safe."""

    def __init__(self) -> None:
        """Start without groups."""
        self._due: dict[str, float] = {}

    def overdue(self, groups: Collection[str], now: float) -> list[str]:
        """Return at most `GROUPS_MAX` of ``groups`` that are due, the longest overdue first; forget all other groups.

        A new group is due at once. Groups that are equally long overdue keep their order.
        """
        self._due = {group: self._due.get(group, _NOW) for group in groups}
        due = (group for group in groups if self._due[group] <= now)
        return sorted(due, key=self._due.__getitem__)[:GROUPS_MAX]

    def refresh(self, groups: Iterable[str], now: float) -> None:
        """Read ``groups`` again after `REFRESH_S`."""
        self._due |= dict.fromkeys(groups, now + REFRESH_S)

    def retry(self, groups: Iterable[str], now: float) -> None:
        """Read ``groups`` again after `RETRY_S`."""
        self._due |= dict.fromkeys(groups, now + RETRY_S)
