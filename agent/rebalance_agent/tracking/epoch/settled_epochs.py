"""Counts the members that have reached each epoch, so that a record costs the same in a group of any size."""

from __future__ import annotations

import sys
from collections import Counter

from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberState
from rebalance_agent.tracking.members.shared_counts import add_count

__all__ = ["SettledEpochs"]

_AWAY = sys.maxsize
"""The epoch assumed for a static member that left temporarily: it has reached every epoch, so no epoch waits for it."""


class SettledEpochs:
    """The epoch that each member has reached, without members that are reconciling."""

    def __init__(self) -> None:
        """Start without members."""
        self._epochs: dict[str, int] = {}
        self._members: Counter[int] = Counter()

    def update(self, member_id: str, current: CurrentAssignment | None) -> None:
        """Process a member's current assignment; None if there is no such member, or it has none."""
        if (epoch := self._epochs.pop(member_id, None)) is not None:
            add_count(self._members, epoch, -1)
        if current and (current.epoch < 0 or current.state is MemberState.STABLE):
            self._epochs[member_id] = epoch = _AWAY if current.epoch < 0 else current.epoch
            add_count(self._members, epoch, 1)

    def reached(self, epoch: int) -> int:
        """Return the number of members that have reached this epoch."""
        return sum(count for reached, count in self._members.items() if reached >= epoch)

    @property
    def away(self) -> bool:
        """Whether a static member left temporarily, and has neither returned nor been removed."""
        return self._members[_AWAY] > 0
