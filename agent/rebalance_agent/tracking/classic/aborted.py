"""Generations of a classic group that are missing before a record: begun by the coordinator, and never completed."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.episode import FailureReason, Source
from rebalance_agent.model.events import AbortedEvent, event_id
from rebalance_agent.model.group import GroupSnapshot, GroupType
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["ABORTED_MAX", "ABORTED_MIN_MS", "aborted_events", "leaps", "missing_between"]

ABORTED_MAX = 10
"""Missing generations before one record that are reported one by one; more of them are reported as one fact."""

ABORTED_MIN_MS = 10
"""A join and a rejoin take at least so long. If many more are missing than there was time for, it is another life of
the group, or not a group's record at all."""


def leaps(last: Generation, timestamp_ms: int, value: GroupSnapshot) -> bool:
    """Whether the generation cannot have followed on the last one."""
    missing = value.generation - last.number - 1
    return missing > ABORTED_MAX and missing * ABORTED_MIN_MS > timestamp_ms - last.timestamp_ms


def missing_between(before: Generation, after: Generation) -> int:
    """How many generations there were between two of which nobody saw a record."""
    return max(0, after.number - before.number - 1)


def aborted_events(cluster_id: str, generation: Generation, missing: int) -> Iterator[AbortedEvent]:
    """One event for each of the generations that are missing before this one, or a single one for very many."""
    each = 1 if missing <= ABORTED_MAX else missing
    group, at_ms = generation.value.group, generation.timestamp_ms
    for number in range(generation.number - missing + each - 1, generation.number, each):
        yield AbortedEvent(
            event_id(AbortedEvent.KIND, cluster_id, group, GroupType.CLASSIC, number, at_ms),
            cluster_id,
            group,
            at_ms,
            Source.RECORDS,
            GroupType.CLASSIC,
            number,
            FailureReason.ABORTED,
            generations=each,
        )
