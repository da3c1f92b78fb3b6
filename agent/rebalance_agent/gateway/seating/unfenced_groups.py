"""Groups in which commits were seen that name no member: the coordinator fences none of these, so nobody takes a seat.

It outlives the groups: one that was idle for long has the same members later.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.rules.short_hash import short_hash

__all__ = ["UNFENCED_GROUPS_MAX", "UnfencedGroups"]

UNFENCED_GROUPS_MAX = 10_000
"""Names that are known, in 1 MiB."""


class UnfencedGroups:
    """Names of groups, as short hashes. Once there are too many, every group counts as one of them."""

    def __init__(self) -> None:
        """No group is known."""
        self._names: set[str] = set()

    def add(self, group: str) -> None:
        """A member of the group commits without naming itself."""
        if len(self._names) < UNFENCED_GROUPS_MAX:
            self._names.add(short_hash(group))

    def __contains__(self, group: str) -> bool:
        """Whether no member of the group may take the seat of another."""
        return len(self._names) >= UNFENCED_GROUPS_MAX or short_hash(group) in self._names
