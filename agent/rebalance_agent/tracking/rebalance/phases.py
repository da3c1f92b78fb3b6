"""The phases of a rebalance and their evidence: the record, polls that show the start, and members' reports."""

from __future__ import annotations

from rebalance_agent.model.episode import Evidence, Phases, Source
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan

__all__ = ["phases_of", "start_of"]


def phases_of(before: Generation | None, generation: Generation, reports: MemberReports) -> Phases:
    """Return the known phases of the rebalance from ``before`` to ``generation``, each with its evidence."""
    started = start_of(before, generation, reports)
    completed = Evidence.LIST if generation.source is Source.DESCRIBE else Evidence.RECORD
    return Phases(
        completed_ms=generation.timestamp_ms,
        completed_evidence=completed,
        started_ms=started.earliest_ms if started else None,
        started_evidence=started.evidence if started else None,
        started_latest_ms=started.latest_ms if started else None,
        joined_ms=generation.joined_ms,
        joined_evidence=None if generation.joined_ms is None else completed,
    )


def start_of(before: Generation | None, generation: Generation, reports: MemberReports) -> TimeBounds | None:
    """Return bounds for when the coordinator asked members to rejoin, from polls and the first revocation.

    Without polls, the bounds are those of the first revocation.
    """
    window = generation.start
    if generation.returned or before is None or not reports:
        return window
    span = ReportSpan.between(before, generation)
    staying = {member.member_id for member in generation.members}
    first = min(
        (
            event
            for member in before.members
            if member.member_id in staying
            for event in reports.revocations(member.member_id, span)
        ),
        key=lambda event: event.asked_ms,
        default=None,
    )
    if first is None:
        return window
    if window is not None:
        latest_ms = min(window.latest_ms, max(first.asked_ms, window.earliest_ms))
        return TimeBounds(window.earliest_ms, latest_ms, window.evidence)
    # No member is asked to rejoin before the previous generation was complete.
    first_ms = max(first.asked_ms, before.timestamp_ms)
    return TimeBounds(first_ms, first_ms, first.evidence or Evidence.MEMBERS)
