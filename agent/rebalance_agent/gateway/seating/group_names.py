"""Keeps the groups that get no more seats, even after their other state was dropped.

The state of an idle group is dropped, but the same members may return later.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.rules.short_hash import short_hash

__all__ = ["GROUP_NAMES_MAX", "GroupNames"]

GROUP_NAMES_MAX = 10_000
"""Maximum number of names; so many names take 1 MiB."""


class GroupNames:
    """Names of groups, as short hashes. Once there are `GROUP_NAMES_MAX` names, every group counts as included."""

    def __init__(self) -> None:
        """Start without names."""
        self._names: set[str] = set()

    def __len__(self) -> int:
        """The number of names."""
        return len(self._names)

    def add(self, group: str) -> None:
        """Add a group."""
        if len(self._names) < GROUP_NAMES_MAX:
            self._names.add(short_hash(group))

    def __contains__(self, group: str) -> bool:
        """Whether the group is included."""
        return len(self._names) >= GROUP_NAMES_MAX or short_hash(group) in self._names
