"""How the members departed that a generation no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.group import Member
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.rebalance.diff_cache import difference

__all__ = ["GoneMember", "gone_in", "gone_members"]


GoneMember = tuple[int, Member, Departure]
"""When the generation completed that does not have the member (epoch ms), the member, and how it departed."""


def gone_members(before: Generation, after: Generation, reports: MemberReports) -> Iterator[tuple[Member, Departure]]:
    """Yield the members of ``before`` that ``after`` no longer has, and how each of them departed, as known now."""
    if gone := difference(before, after).gone:
        span = ReportSpan.between(before, after)
        for member in gone:
            yield member, reports.departure(member, span, after.departures)


def gone_in(episode: Episode, reports: MemberReports) -> tuple[GoneMember, ...]:
    """Return the members that departed in the episode; none if the generation before it is unknown."""
    known = [(before, after) for before, after in episode.steps() if before is not None and episode.known]
    return tuple(
        (after.timestamp_ms, *gone) for before, after in known for gone in gone_members(before, after, reports)
    )
