"""Handles groups known from their leaders' frames when not all of their leaders are behind a gateway."""

from __future__ import annotations

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = ["DOUBTED_MS", "LedGroup"]

DOUBTED_MS = 2_000
"""How long (ms) descriptions must contradict a generation; events from leaders and gateways take at most a second."""


class LedGroup:
    """Notices when a group has changed without a frame: another member leads the group, or the group has no members."""

    def __init__(self) -> None:
        """Start without doubts."""
        self._doubted: tuple[int, int] | None = None  # the doubted generation, and when it was first contradicted

    def is_outdated(self, last: Generation, described: DescribedGroup, asked_ms: int) -> bool:
        """Whether all descriptions of the last `DOUBTED_MS` contradict ``last``, including ``described``.

        One description is not enough, because the frames of the generation that it shows may not have arrived yet.
        """
        if last.source is not Source.FRAMES or asked_ms <= last.seen_ms:
            return False
        if described.state not in (GroupState.STABLE, GroupState.EMPTY):
            return False  # brokers leave out the assignments of a group that rebalances
        if _owners(last) == {member.member_id: _named(member.assigned or {}) for member in described.members}:
            self._doubted = None
            return False
        if self._doubted is None or self._doubted[0] != last.number:
            self._doubted = last.number, asked_ms
        return asked_ms - self._doubted[1] >= DOUBTED_MS


def _owners(last: Generation) -> dict[str, dict[str, frozenset[int]]]:
    return {member.member_id: _named(member.assigned) for member in last.members}


def _named(assigned: TopicPartitions) -> dict[str, frozenset[int]]:
    return {topic: frozenset(partitions) for topic, partitions in assigned.items() if partitions}
