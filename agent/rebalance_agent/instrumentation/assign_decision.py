"""One ``assign()`` call in the words of the model."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.assignors import Strategy, judge
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription

__all__ = ["QUALITY_SIZE_MAX", "AssignDecision"]

QUALITY_SIZE_MAX = 20_000
"""Partitions + subscriptions (each member's topics counted) up to which an assignment is judged.

The whole group waits for the leader meanwhile: at this size up to 60 ms, with mixed subscriptions 180; beyond, seconds.
"""


@dataclass(frozen=True, slots=True)
class AssignDecision:
    """What an assignor was asked and what it answered.

    ``strategy`` is what it promises, where that is known. Not ``whole``: what a cooperative assignor of somebody else's
    gives out in one round, without what it means to give out in the next.
    """

    group: GroupSubscription
    assignment: GroupAssignment
    strategy: Strategy | None = None
    whole: bool = True

    @property
    def partitions(self) -> int:
        """How many partitions were given out."""
        return sum(map(count_partitions, self.assignment.members.values()))

    def quality(self) -> AssignmentQuality | None:
        """How good it is; None where that cannot be known, or judging would take too long."""
        partitions = sum(topic.partitions for topic in self.group.topics.values())
        size = partitions + sum(len(member.topics) for member in self.group.members)
        known = self.whole and size <= QUALITY_SIZE_MAX
        return judge(self.group, self.assignment, self.strategy) if known else None
