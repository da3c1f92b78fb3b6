"""Finds the slowest member of a rebalance, when each member stopped consuming, and how members departed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.known_times import Departure, TimeBounds
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.rebalance.diff_cache import difference

__all__ = ["REJOIN_SLACK_MS", "GoneMember", "Slowness", "find_slowness", "gone_in", "gone_members"]

REJOIN_SLACK_MS = 1_000
"""A member rejoins as soon as its revoked callback has returned. If the join phase ended within this time (ms) after
the last reported return, the coordinator waited for no other member."""


GoneMember = tuple[int, Member, Departure]
"""When the first generation without the member completed (epoch ms), the member, and how it departed."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """The slowest member: ``member_id`` was the last to be ready to rejoin; None if unknown.

    It was ready between ``lower_seconds`` and ``seconds`` after the start. ``stop_seconds``: member id -> seconds from
    the earliest possible start until the member stopped consuming. ``expelled``: ids of the members that were removed
    because they did not revoke in time.
    """

    member_id: str | None = None
    seconds: float | None = None
    lower_seconds: float | None = None
    stop_seconds: Mapping[str, float] = field(default_factory=dict)
    expelled: tuple[str, ...] = ()


def find_slowness(episode: Episode, start: TimeBounds | None, reports: MemberReports) -> Slowness:
    """Find the slowest member in all join phases of the episode; ``start``: bounds of its start, if known.

    Where the coordinator records revocations, it is the member that took longest to revoke. A member that was removed
    because it did not revoke in time is the slowest: the others waited for it until the end of the join phase.
    """
    steps = [(before, after) for before, after in episode.steps() if before is not None]
    expelled = [_expelled(before, after, reports) for before, after in steps]
    everyone = tuple(dict.fromkeys(member_id for ids in expelled for member_id in ids))
    if slow := [(revoking_ms, name) for step in episode.generations for name, revoking_ms in step.revoking_ms.items()]:
        longest_ms, member_id = max(slow)
        return Slowness(member_id, longest_ms / 1000, longest_ms / 1000, expelled=everyone)
    if start is None:
        return Slowness(expelled=everyone)
    worst: list[tuple[int, str]] = []
    stops: dict[str, float] = {}
    for (before, generation), removed in zip(steps, expelled, strict=True):
        entered, returned = _revocations(before, generation, reports)
        for member_id, at_ms in entered.items():
            stops.setdefault(member_id, _seconds(start.earliest_ms, at_ms))
        if removed:
            joined_ms = generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
            worst.append((joined_ms, min(removed)))
        elif returned and _waited_only_for(before, generation, returned):
            worst.append(max((at_ms, member_id) for member_id, at_ms in returned.items()))
    if not worst:
        return Slowness(stop_seconds=stops, expelled=everyone)
    at_ms, member_id = max(worst)
    lower, upper = _seconds(start.latest_ms, at_ms), _seconds(start.earliest_ms, at_ms)
    return Slowness(member_id, upper, lower, stops, everyone)


def _expelled(before: Generation, after: Generation, reports: MemberReports) -> list[str]:
    """Return the ids of the members that were removed because they did not revoke in time."""
    return [member.member_id for member, how in gone_members(before, after, reports) if how is Departure.EXPELLED]


def _seconds(from_ms: int, until_ms: int) -> float:
    return max(0, until_ms - from_ms) / 1000


def _revocations(
    before: Generation, after: Generation, reports: MemberReports
) -> tuple[dict[str, int], dict[str, int]]:
    """Return, by member id, when remaining members entered their first revoked callback and left their last."""
    span = ReportSpan.between(before, after)
    staying = {member.member_id for member in after.members}
    entered: dict[str, int] = {}
    returned: dict[str, int] = {}
    for member in before.members:
        if member.member_id in staying and (events := reports.revocations(member.member_id, span)):
            entered[member.member_id] = events[0].started_ms
            returned[member.member_id] = max(event.timestamp_ms for event in events)
    return entered, returned


def _waited_only_for(before: Generation, after: Generation, returned: Mapping[str, int]) -> bool:
    staying = {member.member_id for member in after.members}
    owners = {member.member_id for member in before.members if count_partitions(member.assigned)}
    if after.joined_ms is not None and abs(after.joined_ms - max(returned.values())) <= REJOIN_SLACK_MS:
        return True
    return owners & staying <= returned.keys()


def gone_members(before: Generation, after: Generation, reports: MemberReports) -> Iterator[tuple[Member, Departure]]:
    """Yield the members of ``before`` that are not in ``after``, and how each of them departed, as known now."""
    if gone := difference(before, after).gone:
        span = ReportSpan.between(before, after)
        for member in gone:
            yield member, reports.departure(member, span, after.departures)


def gone_in(episode: Episode, reports: MemberReports) -> tuple[GoneMember, ...]:
    """Return the members that departed in the episode; none if the generation before it is unknown."""
    known = [(before, after) for before, after in episode.steps() if before is not None and episode.known]
    return tuple(
        (after.timestamp_ms, reports.seats.served(member), departure)
        for before, after in known
        for member, departure in gone_members(before, after, reports)
    )
