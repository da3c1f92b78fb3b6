"""Names of groups that have no seats any more, for a reason that outlives them.

A group that was idle for long has the same members later.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.rules.short_hash import short_hash

__all__ = ["GROUP_NAMES_MAX", "GroupNames"]

GROUP_NAMES_MAX = 10_000
"""Names that are known, in 1 MiB."""


class GroupNames:
    """Names of groups, as short hashes. Once there are too many, every group counts as one of them."""

    def __init__(self) -> None:
        """No group is known."""
        self._names: set[str] = set()

    def __len__(self) -> int:
        """The number of names."""
        return len(self._names)

    def add(self, group: str) -> None:
        """Know a group."""
        if len(self._names) < GROUP_NAMES_MAX:
            self._names.add(short_hash(group))

    def __contains__(self, group: str) -> bool:
        """Whether the group is one of them."""
        return len(self._names) >= GROUP_NAMES_MAX or short_hash(group) in self._names
