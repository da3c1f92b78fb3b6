"""Aborted generations of a classic group: the coordinator began them and wrote no record, so their ids are missing."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.episode import FailureReason, Source
from rebalance_agent.model.events import AbortedEvent
from rebalance_agent.model.group import GroupSnapshot, GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["ABORTED_MAX", "ABORTED_MIN_MS", "aborted_events", "cannot_follow", "missing_between"]

ABORTED_MAX = 10
"""Maximum number of missing generations before one record for which each gets its own event; beyond it, one event
reports all."""

ABORTED_MIN_MS = 10
"""Shortest time (ms) of one join. If more than `ABORTED_MAX` generations are missing and would have been shorter than
this, the group was deleted and recreated, or the record does not describe a group."""


def cannot_follow(last: Generation, timestamp_ms: int, value: GroupSnapshot) -> bool:
    """Whether the generation cannot follow ``last``, because more are missing than can have happened since then."""
    missing = value.generation - last.number - 1
    return missing > ABORTED_MAX and missing * ABORTED_MIN_MS > timestamp_ms - last.timestamp_ms


def missing_between(before: Generation, after: Generation) -> int:
    """Return the number of generations between two records."""
    return max(0, after.number - before.number - 1)


def aborted_events(cluster_id: str, generation: Generation, missing: int) -> Iterator[AbortedEvent]:
    """Yield one event per missing generation before this one, or a single event for more than `ABORTED_MAX`."""
    generations = 1 if missing <= ABORTED_MAX else missing
    group, at_ms = generation.value.group, generation.timestamp_ms
    for number in range(generation.number - missing + generations - 1, generation.number, generations):
        yield AbortedEvent(
            event_id(AbortedEvent.KIND, cluster_id, group, GroupType.CLASSIC, number, at_ms),
            cluster_id,
            group,
            at_ms,
            Source.RECORDS,
            GroupType.CLASSIC,
            number,
            FailureReason.ABORTED,
            generations=generations,
        )
