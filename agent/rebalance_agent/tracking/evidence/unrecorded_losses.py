"""Finds partitions that members may have lost and got back without a record, if the coordinator assigns. Pure.

A member that exceeds ``max.poll.interval.ms`` gives up all its partitions and leaves; a fenced member gives them up,
too. If the coordinator is not available at that time, the leave request is lost. The member rejoins under its old id,
and the coordinator, which has not removed it, returns its previous partitions to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rebalance_agent.model.group import GroupType, Member
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange, Outage

__all__ = ["silent_ms", "unrecorded_losses"]


def silent_ms(member: Member) -> int:
    """Return how long (ms) a member may have been stalled by the time of its removal."""
    return member.session_timeout_ms + max(0, member.rebalance_timeout_ms)


def unrecorded_losses(
    before: Generation | None,
    generation: Generation,
    worked_ms: Callable[[Member], int | None],
    measures: Callable[[str], bool],
) -> dict[str, int]:
    """Return, by member id, since which time (epoch ms) members that may have lost partitions may be stalled.

    ``worked_ms``: returns the time until which a member certainly worked; None if unknown. ``measures``: returns
    whether the member with an id reports.
    """
    if before is None or generation.group_type is GroupType.CLASSIC:
        return {}
    unreached = _unreached(generation)
    if not unreached:
        return {}
    alive = {member.member_id for member in generation.members}
    started_ms = generation.start.earliest_ms if generation.start else before.timestamp_ms
    lost: dict[str, int] = {}
    for member in before.members:
        if member.member_id in alive and not measures(member.member_id):
            since_ms = _lost_ms(member, unreached, started_ms, worked_ms(member))
            if since_ms is not None:
                # A stall before the previous generation belongs to that generation.
                lost[member.member_id] = max(since_ms, before.timestamp_ms)
    return lost


def _unreached(generation: Generation) -> list[Outage | CoordinatorChange]:
    """Return the periods before ``generation`` in which requests may not have reached the coordinator.

    A coordinator that answers slowly has received the requests.
    """
    earlier = [away for away in generation.unanswered if away.after_ms < generation.timestamp_ms]
    return [away for away in earlier if isinstance(away, CoordinatorChange) or not away.slow]


def _lost_ms(
    member: Member, unreached: Iterable[Outage | CoordinatorChange], started_ms: int, worked_ms: int | None
) -> int | None:
    """Return since which time a member may be stalled that was in contact with its coordinator after ``started_ms``.

    The member had been silent for at most its session timeout, and had not been removed before the coordinator became
    unavailable.
    """
    away_ms = [
        away.after_ms
        for away in unreached
        if started_ms <= away.until_ms + member.session_timeout_ms and (worked_ms is None or worked_ms < away.until_ms)
    ]
    if not away_ms:
        return None
    since_ms = min(away_ms) - silent_ms(member)
    return since_ms if worked_ms is None else max(since_ms, worked_ms)
