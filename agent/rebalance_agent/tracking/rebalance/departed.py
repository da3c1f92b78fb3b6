"""How the members departed that a generation no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.group import Member
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.rebalance.diff_cache import difference

__all__ = ["departed"]


def departed(before: Generation, after: Generation, reports: MemberReports) -> Iterator[tuple[Member, Departure]]:
    """Yield the members of ``before`` that ``after`` no longer has, and how each of them departed, as known now."""
    if gone := difference(before, after).gone:
        span = ReportSpan.between(before, after)
        for member in gone:
            yield member, reports.departure(member, span, after.departures)
