"""Computes which rebalances of a group's recorded past seats would have spared, at least. Pure.

A rebalance counts as spared if it consists of nothing but deploys of consumers: each member that left has an equal
successor, which joined early enough to be held for it, or soon enough after it to find its seat kept. Rebalances whose
start or causes are not known do not count as spared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.replay.recorded_history import RecordedHistory, RecordedRebalance
from rebalance_agent.gateway.seat_rules import SeatRule
from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile, read_profile
from rebalance_agent.gateway.seats.rules.wait_times import WAITING_SHARE
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION, encode_subscription
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.member_changes import member_changes
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import ConsumerSubscription

__all__ = ["PastSeats", "past_seats"]

_DEPLOYS = frozenset({Trigger.MEMBER_LEFT, Trigger.MEMBER_JOINED})


@dataclass(frozen=True, slots=True)
class PastSeats:
    """The number of recorded ``rebalances``, and of the ``spared`` ones, which would not have happened.

    ``stalled_partition_seconds``: of the spared ones, at least; ``vacant_partition_seconds``: the cost of kept seats
    instead, at most. ``first_ms``: when the first rebalance completed (epoch ms), None without any.
    """

    rebalances: int
    spared: int
    stalled_partition_seconds: float
    vacant_partition_seconds: float
    first_ms: int | None


@dataclass(frozen=True, slots=True)
class _Handover:
    """A member that left in rebalance ``left``, and its successor that joined in ``joined``; indexes of rebalances.

    ``vacant_seconds``: how long the seat would have been vacant at most.
    """

    left: int
    joined: int
    gone: str
    successor: str
    partitions: int
    vacant_seconds: float

    def spans(self, index: int) -> bool:
        """Whether a rebalance at ``index`` falls into the time in which one of them waits for the other."""
        return min(self.left, self.joined) <= index <= max(self.left, self.joined)


@dataclass(frozen=True, slots=True)
class _Change:
    """A rebalance with the members that joined and left, and times as bounds (epoch ms)."""

    rebalance: RecordedRebalance
    joined: tuple[MemberSnapshot, ...]
    gone: tuple[MemberSnapshot, ...]

    @property
    def started_ms(self) -> int | None:
        return self.rebalance.generations[0].phases.started_ms

    @property
    def ended_ms(self) -> int:
        return self.rebalance.closing.timestamp_ms

    @property
    def deploys(self) -> bool:
        """Whether its start is known, and it has no other cause than members that join or leave by themselves."""
        before, causes = self.rebalance.before, self.rebalance.closing.causes
        known = before is not None and bool(before.members) and self.started_ms is not None
        return known and bool(causes) and set(causes) <= _DEPLOYS and not self.rebalance.returned


def past_seats(history: RecordedHistory, rule: SeatRule) -> PastSeats:
    """Return what ``rule`` would have spared if all members had been behind gateways, and their clients waited."""
    changes = [_change(rebalance) for rebalance in history.rebalances]
    handovers = list(_handovers(changes, rule)) if history.group_type is GroupType.CLASSIC else []
    spared = _spared(changes, handovers)
    while broken := [one for one in handovers if not all(i in spared for i in range(len(changes)) if one.spans(i))]:
        handovers = [one for one in handovers if one not in broken]
        spared = _spared(changes, handovers)
    stalls = [changes[index].rebalance.closing.stall for index in spared]
    return PastSeats(
        rebalances=len(changes),
        spared=len(spared),
        stalled_partition_seconds=sum(stall.partition_seconds for stall in stalls if stall is not None),
        vacant_partition_seconds=sum(one.partitions * one.vacant_seconds for one in handovers),
        first_ms=changes[0].ended_ms if changes else None,
    )


def _change(rebalance: RecordedRebalance) -> _Change:
    before = rebalance.before.members if rebalance.before else ()
    changes = member_changes(before, rebalance.closing.members)
    return _Change(rebalance, changes.joined, changes.gone)


def _spared(changes: Sequence[_Change], handovers: Sequence[_Handover]) -> set[int]:
    """The rebalances in which every member that joined or left is part of a handover."""
    left = {(one.left, one.gone) for one in handovers}
    joined = {(one.joined, one.successor) for one in handovers}
    return {
        index
        for index, change in enumerate(changes)
        if change.deploys
        and (change.gone or change.joined)
        and all((index, member.member_id) in left for member in change.gone)
        and all((index, member.member_id) in joined for member in change.joined)
    }


def _handovers(changes: Sequence[_Change], rule: SeatRule) -> Iterator[_Handover]:
    """Each member that left with the first equal newcomer that waited for it, or else that came in time."""
    taken: set[str] = set()
    for left, change in enumerate(changes):
        for gone in change.gone if change.deploys else ():
            profile = _profile(gone, change.rebalance)
            for joined, newcomer in _newcomers(changes, left):
                vacant_seconds = _vacant_seconds(changes[joined], change, newcomer, rule, same=joined == left)
                if vacant_seconds is None or newcomer.member_id in taken or profile is None:
                    continue
                if _profile(newcomer, changes[joined].rebalance) == profile:
                    taken.add(newcomer.member_id)
                    partitions = count_partitions(gone.assigned)
                    yield _Handover(left, joined, gone.member_id, newcomer.member_id, partitions, vacant_seconds)
                    break


def _newcomers(changes: Sequence[_Change], left: int) -> Iterator[tuple[int, MemberSnapshot]]:
    """Dynamic members that joined: before rebalance ``left``, the first ones first, then in it and after it."""
    for index, change in enumerate(changes):
        if change.deploys or index < left:
            yield from ((index, member) for member in change.joined if member.instance_id is None)


def _vacant_seconds(
    came: _Change, went: _Change, newcomer: MemberSnapshot, rule: SeatRule, *, same: bool
) -> float | None:
    """Return how long the seat would have been vacant at most; None if the newcomer might not have got it."""
    if came.started_ms is None or went.started_ms is None:
        return None
    if came.ended_ms <= went.started_ms and not same:
        patience = (newcomer.rebalance_timeout_ms or 0) / 1000 * WAITING_SHARE
        return 0.0 if (went.ended_ms - came.started_ms) / 1000 <= min(rule.hold_seconds, patience) else None
    vacant_seconds = (came.ended_ms - went.started_ms) / 1000
    return vacant_seconds if 0 <= vacant_seconds <= rule.keep_seconds else None


def _profile(member: MemberSnapshot, rebalance: RecordedRebalance) -> JoinProfile | None:
    """Return the profile by which successors are compared; None for members that get no seats."""
    assignor = rebalance.closing.assignor or (rebalance.before and rebalance.before.assignor)
    if member.instance_id is not None or not assignor or assignor.startswith("stream"):
        return None
    subscription = ConsumerSubscription(NEWEST_VERSION, member.topics, member.user_data, rack_id=member.rack or None)
    timeouts = member.session_timeout_ms or 0, member.rebalance_timeout_ms or 0
    return read_profile("consumer", [(assignor, encode_subscription(subscription))], *timeouts)
