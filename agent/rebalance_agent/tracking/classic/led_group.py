"""Handles groups known from their leaders' frames: evaluates what only their descriptions show."""

from __future__ import annotations

from collections import deque

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.coordinators import CHANGES_MAX
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, CoordinatorChange
from rebalance_agent.tracking.observations import DescribedGroup, GroupRecord
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["DOUBTED_MS", "UNSEEN_MS", "LedGroup"]

DOUBTED_MS = 2_000
"""How long (ms) descriptions must contradict a generation; events from leaders and gateways take at most a second."""

UNSEEN_MS = 15_000
"""How long (ms) a group may have no description before its coordinator may have changed unnoticed; if descriptions are
further apart, three pauses between them."""


class LedGroup:
    """Detects when a group has changed without a frame: another member leads the group, or the group has no members.

    It also detects when the group gets a new coordinator, which records would show.
    """

    def __init__(self) -> None:
        """Start without doubts."""
        self._doubted: tuple[int, int] | None = None  # the doubted generation, and when it was first contradicted
        self._coordinator, self._described_ms, self._pause_ms = -1, -FOREVER_MS, 0
        self._changes: deque[CoordinatorChange] = deque(maxlen=CHANGES_MAX)

    def coordinator_changes(
        self, before: Generation | None, record: GroupRecord, context: TrackerContext
    ) -> tuple[CoordinatorChange, ...]:
        """Return when the coordinator changed, or may have changed unnoticed, oldest first.

        A period without descriptions before ``record`` counts as such a change, for later generations, too. Members of
        the generation ``before`` were in contact with the coordinator that completed it, so no change counts from an
        earlier time.
        """
        if record.source is not Source.FRAMES:
            return context.coordinators.changes(record.partition)
        if record.seen_ms - self._described_ms > max(UNSEEN_MS, 3 * self._pause_ms):
            self._changes.append(CoordinatorChange(self._described_ms, record.seen_ms))
            self._described_ms = record.seen_ms
        since_ms, offset_ms = before.timestamp_ms if before else -FOREVER_MS, context.offset.ms or 0
        changes = (CoordinatorChange(each.after_ms - offset_ms, each.until_ms - offset_ms) for each in self._changes)
        return tuple(
            CoordinatorChange(max(each.after_ms, min(since_ms, each.until_ms)), each.until_ms) for each in changes
        )

    def describe(self, described: DescribedGroup, asked_ms: int, answered_ms: int) -> None:
        """Process the coordinator of a description that was valid between these times, by the observer's clock."""
        if described.coordinator < 0:
            return
        if described.coordinator != self._coordinator:
            self._changes.append(CoordinatorChange(self._described_ms, answered_ms))
        self._pause_ms = asked_ms - self._described_ms if self._coordinator >= 0 else 0
        self._coordinator, self._described_ms = described.coordinator, asked_ms

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
