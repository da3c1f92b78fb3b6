"""Orders members by load: which member takes the next partition, and which gives one away.

Both classes read the same loads, which the caller changes as it moves partitions, and the same order of members.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["GivingMembers", "TakingMembers", "by_load"]


def by_load(members: Sequence[int], loads: Sequence[int]) -> list[int]:
    """Return ``members`` by rising load; members with equal loads by index."""
    return sorted(members, key=lambda member: (loads[member], member))


class TakingMembers:
    """Fills members level by level, least loaded first: all at ``level`` get one partition, then the next level.

    ``level``: the load of these members before their turn.
    """

    def __init__(self, order: list[int], loads: Sequence[int]) -> None:
        """Start with the first of ``order``, which is by rising load."""
        self._order, self._loads = order, loads
        self.level = loads[order[0]] - 1
        self._end = self._turn = 0

    def next_member(self) -> int:
        """Return the member that takes a partition now."""
        if self._turn >= self._end:
            self.level += 1
            while self._end < len(self._order) and self._loads[self._order[self._end]] == self.level:
                self._end += 1
            self._turn = 0
        member = self._order[self._turn]
        self._turn += 1
        return member


class GivingMembers:
    """Drains members level by level, most loaded first. ``level``: the load of these members before their turn."""

    def __init__(self, order: list[int], loads: Sequence[int]) -> None:
        """Start with the last of ``order``, which is by rising load."""
        self._order, self._loads = order, loads
        self.level = loads[order[-1]] + 1
        self._start = self._end = len(order)
        self._turn = self._end - 1

    def next_member(self) -> int | None:
        """Return the member that gives a partition away now; None if no member can."""
        if self._turn < self._start:
            if self._end <= self._start and self._start > 0:
                # All members of this level were skipped.
                self.level = self._loads[self._order[self._start - 1]]
            else:
                self.level -= 1
            while self._start > 0 and self._loads[self._order[self._start - 1]] == self.level:
                self._start -= 1
            self._turn = self._end - 1
        if self._turn < 0:
            return None
        member = self._order[self._turn]
        self._turn -= 1
        return member

    def skip(self) -> None:
        """Skip the member that was returned last, since it has no partition of the topic."""
        order, at, last = self._order, self._turn + 1, self._end - 1
        order[at], order[last] = order[last], order[at]
        self._end -= 1
