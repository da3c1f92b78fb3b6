"""The slowest member of a rebalance, and when each member stopped consuming, as far as reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan

__all__ = ["REJOIN_SLACK_MS", "Slowness", "find_slowness"]

REJOIN_SLACK_MS = 1_000
"""A member rejoins as soon as its revoked callback returned. If the join phase ended within this time (ms) of the last
reported return, the coordinator waited for no other member."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """The slowest member: ``member_id`` was the last one ready to rejoin, ``seconds`` after the start; None: unknown.

    ``stop_seconds``: member id -> seconds from the start until the member stopped consuming.
    """

    member_id: str | None = None
    seconds: float | None = None
    stop_seconds: Mapping[str, float] = field(default_factory=dict)


def find_slowness(episode: Episode, started_ms: int | None, reports: MemberReports) -> Slowness:
    """Find the slowest member in all join phases of the episode; ``started_ms`` is the episode's start.

    Where the coordinator records revocations, it is the member that took longest to revoke.
    """
    if slow := [(revoking_ms, name) for step in episode.generations for name, revoking_ms in step.revoking_ms.items()]:
        longest_ms, member_id = max(slow)
        return Slowness(member_id, longest_ms / 1000)
    if started_ms is None or not reports:
        return Slowness()
    worst: tuple[int, str] | None = None
    stops: dict[str, float] = {}
    for before, generation in episode.steps():
        if before is None:
            continue
        entered, returned = _revocations(before, generation, reports)
        for member_id, at_ms in entered.items():
            stops.setdefault(member_id, max(0, at_ms - started_ms) / 1000)
        if returned and _waited_only_for(before, generation, returned):
            last = max((at_ms, member_id) for member_id, at_ms in returned.items())
            worst = max(worst, last) if worst else last
    if worst is None:
        return Slowness(stop_seconds=stops)
    return Slowness(worst[1], max(0, worst[0] - started_ms) / 1000, stops)


def _revocations(
    before: Generation, after: Generation, reports: MemberReports
) -> tuple[dict[str, int], dict[str, int]]:
    """Return, by member id, when staying members entered their first revoked callback, and left their last one."""
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
