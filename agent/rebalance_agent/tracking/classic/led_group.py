"""A group that is known from the frames of its leaders, which are not all behind a gateway."""

from __future__ import annotations

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = ["LedGroup"]


class LedGroup:
    """Notices that a group has gone on without a frame: another member leads it, or it has no members any more."""

    def __init__(self) -> None:
        """Start without doubts."""
        self._doubted: int | None = None

    def is_outdated(self, last: Generation, described: DescribedGroup, asked_ms: int) -> bool:
        """Whether two descriptions in a row contradict the generation ``last``, the later one ``asked_ms``.

        One is not enough: the frames of the generation that it shows may be on their way.
        """
        if last.source is not Source.FRAMES or asked_ms <= last.seen_ms:
            return False
        if described.state not in (GroupState.STABLE, GroupState.EMPTY):
            return False  # brokers leave out the assignments of a group that rebalances
        if _owners(last) == {member.member_id: _named(member.assigned or {}) for member in described.members}:
            self._doubted = None
            return False
        before, self._doubted = self._doubted, last.number
        return before == last.number


def _owners(last: Generation) -> dict[str, dict[str, frozenset[int]]]:
    return {member.member_id: _named(member.assigned) for member in last.members}


def _named(assigned: TopicPartitions) -> dict[str, frozenset[int]]:
    return {topic: frozenset(partitions) for topic, partitions in assigned.items() if partitions}
