"""Finds the member for which the others of a group waited most, in recorded rebalances."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.advice.replay.recorded_history import RecordedHistory, RecordedRebalance
from rebalance_agent.model.episode import Basis
from rebalance_agent.model.member_changes import member_name

__all__ = ["SlowMember", "costlier", "slow_member"]

SLOW_SECONDS_MIN = 1.0
"""Shortest stall, in seconds, that advice mentions if the group waited for one member."""

SLOW_SHARE_MIN = 0.5
"""Minimum share of the longest stall that the wait must make up to count as its reason."""


@dataclass(frozen=True, slots=True)
class SlowMember:
    """A member that stopped late in one rebalance: the group waited ``seconds`` of the longest stall for it.

    ``partition_seconds``: the upper bound of the stalls in that rebalance that this wait caused. ``name``: see
    `member_name`. ``stop_seconds``: from the start of the rebalance until the member stopped processing; None if it was
    removed, or no report shows it.
    """

    name: str
    seconds: float
    stall_seconds: float
    partition_seconds: float
    stop_seconds: float | None = None


def slow_member(history: RecordedHistory) -> SlowMember | None:
    """Return the most costly member of the rebalances in which members reported the lengths of all stalls."""
    worst: SlowMember | None = None
    for rebalance in history.rebalances:
        if history.counts(rebalance.closing):
            worst = costlier(worst, _slow(rebalance))
    return worst


def costlier(one: SlowMember | None, other: SlowMember | None) -> SlowMember | None:
    """Return the more costly of the two; the first if they are equal."""
    if one is None or other is None:
        return one or other
    return other if other.partition_seconds > one.partition_seconds else one


def _slow(rebalance: RecordedRebalance) -> SlowMember | None:
    closing = rebalance.closing
    stall, certainly = closing.stall, closing.slowest_lower_seconds
    seconds = (closing.slowest_seconds if certainly is None else certainly) or 0.0
    if stall is None or stall.basis is not Basis.EXACT:
        return None
    # The rebalance may wait while all partitions are still processed, which costs nothing.
    waited = min(seconds, stall.lower_seconds)
    if waited < SLOW_SECONDS_MIN or waited < SLOW_SHARE_MIN * stall.lower_seconds:
        return None
    # A removed member is only in the generation before.
    events = (*reversed(rebalance.generations), *((rebalance.before,) if rebalance.before else ()))
    members = (member for event in events for member in event.members)
    member = next((member for member in members if member.member_id == closing.slowest_member_id), None)
    if member is None:
        return None
    pod = member.where.pod if member.where else None
    share = waited / stall.lower_seconds
    name = member_name(member.client_id, member.instance_id, pod=pod)
    return SlowMember(name, waited, stall.lower_seconds, stall.partition_seconds * share, member.stop_seconds)
