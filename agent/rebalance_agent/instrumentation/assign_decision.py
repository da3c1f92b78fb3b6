"""One ``assign()`` call in the model's types: the input subscriptions and the resulting assignment."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.assignors import Strategy, judge
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription

__all__ = ["QUALITY_SIZE_MAX", "AssignDecision"]

QUALITY_SIZE_MAX = 20_000
"""Largest assignment whose quality is computed, in partitions plus subscribed topics summed over members.

The whole group waits for the leader during this time. At this size it takes up to 60 ms, with mixed subscriptions 180
ms; for larger groups it would take seconds.
"""


@dataclass(frozen=True, slots=True)
class AssignDecision:
    """The input and output of one ``assign()`` call.

    ``strategy`` is the strategy of this package that ran, None for a foreign assignor. ``whole`` is False for a foreign
    cooperative assignor: its result lacks the partitions that it intends to assign in the next round.
    """

    group: GroupSubscription
    assignment: GroupAssignment
    strategy: Strategy | None = None
    whole: bool = True

    @property
    def partitions(self) -> int:
        """Number of partitions in the assignment, summed over members."""
        return sum(map(count_partitions, self.assignment.members.values()))

    def quality(self) -> AssignmentQuality | None:
        """Return the assignment's quality; None if it is not ``whole``, or larger than `QUALITY_SIZE_MAX`."""
        partitions = sum(topic.partitions for topic in self.group.topics.values())
        size = partitions + sum(len(member.topics) for member in self.group.members)
        judged = self.whole and size <= QUALITY_SIZE_MAX
        return judge(self.group, self.assignment, self.strategy) if judged else None
