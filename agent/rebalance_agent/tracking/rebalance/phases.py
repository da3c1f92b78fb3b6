"""When a generation's phases were: from its record, the polls that saw it begin, and what members said."""

from __future__ import annotations

from rebalance_agent.model.episode import Evidence, Phases
from rebalance_agent.tracking.completed_generation import Generation, TimeBounds
from rebalance_agent.tracking.member_reports import MemberReports, ReportSpan

__all__ = ["phases_of"]


def phases_of(before: Generation | None, generation: Generation, log: MemberReports) -> Phases:
    """What is known of the phases that led from ``before`` to ``generation``, each with its evidence."""
    started = _started(before, generation, log)
    return Phases(
        completed_ms=generation.timestamp_ms,
        completed_evidence=Evidence.RECORD,
        started_ms=started.earliest_ms if started else None,
        started_evidence=started.evidence if started else None,
        joined_ms=generation.joined_ms,
        joined_evidence=None if generation.joined_ms is None else Evidence.RECORD,
    )


def _started(before: Generation | None, generation: Generation, log: MemberReports) -> TimeBounds | None:
    """When the coordinator asked members to rejoin: the poll that saw it, unless a member reacted even before."""
    window = generation.start
    if generation.returned or before is None or not log:
        return window
    span = ReportSpan.between(before, generation)
    staying = {member.member_id for member in generation.members}
    first = min(
        (
            event
            for member in before.members
            if member.member_id in staying
            for event in log.revocations(member.member_id, span)
        ),
        key=lambda event: event.asked_ms,
        default=None,
    )
    if first is None or (window and first.asked_ms >= window.latest_ms):
        return window
    # Nobody was asked before the generation that it begins from.
    first_ms = max(first.asked_ms, window.earliest_ms if window else before.timestamp_ms)
    return TimeBounds(first_ms, first_ms, first.evidence or Evidence.MEMBERS)
