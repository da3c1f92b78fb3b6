"""Compares the phases of a generation's event with the times in its records."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.audit.audited_group import AuditedGroup
from rebalance_agent.audit.expected.entries import ExpectedFact
from rebalance_agent.audit.published_event import PublishedEvent
from rebalance_agent.model.group import GroupType

__all__ = ["phase_differences"]


def phase_differences(entry: ExpectedFact, now: AuditedGroup, published: PublishedEvent) -> Iterator[str]:
    """Yield the times of an event that the records contradict; the return of a static member has no phases.

    No record has the start of a classic rebalance, but this start cannot be before the previous generation.
    """
    if entry.returned:
        return
    before = entry.before if entry.certain and published.previous is not None else None
    if now.group_type is GroupType.CLASSIC:
        joined_ms = _join_end(now, before)
        if published.joined_ms != joined_ms and (entry.certain or published.joined_ms is not None):
            yield f"its join phase ended at {joined_ms} in the record, {published.joined_ms} in the event"
        first_ms = None if before is None else min(before.at_ms, now.at_ms)
        if first_ms is not None and published.started_ms is not None and published.started_ms < first_ms:
            yield f"it cannot have begun before {first_ms}, but the event has {published.started_ms}"
    elif before is not None:
        # An observer that observed only a part of the rebalance leaves times out.
        if published.started_ms not in (None, now.started_ms):
            yield f"its epoch began at {now.started_ms} in the record, {published.started_ms} in the event"
        if published.joined_ms not in (None, now.joined_ms):
            yield f"it was assigned at {now.joined_ms} in the record, {published.joined_ms} in the event"


def _join_end(now: AuditedGroup, before: AuditedGroup | None) -> int | None:
    """Return the record's end of the join phase, if it is plausible: coordinators' clocks may differ."""
    if now.joined_ms is None or (before is not None and now.joined_ms < before.at_ms):
        return None
    return min(now.joined_ms, now.at_ms)
