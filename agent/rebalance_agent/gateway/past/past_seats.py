"""Computes which of a group's recorded rebalances seats would certainly have avoided. Pure.

A rebalance counts as avoided if only restarts of consumers caused it: every member that left has an equal successor.
This successor joined early enough to be held until the member left, or soon enough after that to find the seat kept.
Rebalances whose start or causes are unknown do not count as avoided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.replay.recorded_history import RecordedHistory
from rebalance_agent.gateway.past.past_admissions import PastAdmissions, past_admissions
from rebalance_agent.gateway.past.past_changes import RecordedChange, member_profile, recorded_change
from rebalance_agent.gateway.seat_rules import TYPES_WITH_SEATS, SeatRule
from rebalance_agent.gateway.seats.rules.wait_times import (
    EPOCH_HEARTBEAT_SECONDS,
    EPOCH_KEPT_SECONDS,
    EPOCH_PATIENCE_SECONDS,
    WAITING_SHARE,
)
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import count_partitions

__all__ = ["PastSeats", "past_seats"]


@dataclass(frozen=True, slots=True)
class PastSeats:
    """How many ``rebalances`` were recorded, and how many of them seats would have ``spared``.

    ``generations``: the number of avoided generations (of group epochs if ``group_type`` is consumer, KIP-848).
    ``stalled_partition_seconds``: a lower bound on the stall of the avoided rebalances; ``vacant_partition_seconds``:
    an upper bound on the cost of kept seats. ``admissions``: what joint admission would have merged in addition.
    ``first_ms``: when the first rebalance completed (epoch ms); None if there is none.
    """

    rebalances: int
    spared: int
    generations: int
    stalled_partition_seconds: float
    vacant_partition_seconds: float
    first_ms: int | None
    group_type: GroupType
    admissions: PastAdmissions


@dataclass(frozen=True, slots=True)
class _Handover:
    """A member that left in rebalance ``left``, and its successor that joined in rebalance ``joined`` (both: indexes).

    ``vacant_seconds``: the longest time for which the seat would have been vacant.
    """

    left: int
    joined: int
    gone: str
    successor: str
    partitions: int
    vacant_seconds: float

    def spans(self, index: int) -> bool:
        """Whether a rebalance at ``index`` lies between the two rebalances of this handover."""
        return min(self.left, self.joined) <= index <= max(self.left, self.joined)


def past_seats(history: RecordedHistory, rule: SeatRule, admission_seconds: float = 0.0) -> PastSeats:
    """Return what ``rule`` would have avoided if all members had used gateways, and their clients had waited.

    ``admission_seconds``: see `SeatSettings`.
    """
    changes = [recorded_change(rebalance) for rebalance in history.rebalances]
    handovers = list(_handovers(changes, rule)) if history.group_type in TYPES_WITH_SEATS else []
    spared = _spared(changes, handovers)
    while broken := [one for one in handovers if not all(i in spared for i in range(len(changes)) if one.spans(i))]:
        handovers = [one for one in handovers if one not in broken]
        spared = _spared(changes, handovers)
    stalls = [changes[index].rebalance.closing.stall for index in spared]
    return PastSeats(
        rebalances=len(changes),
        spared=len(spared),
        generations=sum(changes[index].generations for index in spared),
        stalled_partition_seconds=sum(stall.partition_seconds for stall in stalls if stall is not None),
        vacant_partition_seconds=sum(one.partitions * one.vacant_seconds for one in handovers),
        first_ms=changes[0].ended_ms if changes else None,
        group_type=history.group_type,
        admissions=past_admissions(changes, spared, rule, admission_seconds),
    )


def _spared(changes: Sequence[RecordedChange], handovers: Sequence[_Handover]) -> set[int]:
    """Return the rebalances in which every member that joined or left is part of a handover."""
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


def _handovers(changes: Sequence[RecordedChange], rule: SeatRule) -> Iterator[_Handover]:
    """Yield each member that left with its successor: an equal newcomer that waited, or else one that came in time."""
    taken: set[str] = set()
    last_joined = {member.member_id: index for index, change in enumerate(changes) for member in change.joined}
    for left, change in enumerate(changes):
        for gone in change.gone if change.deploys else ():
            profile = member_profile(gone, change.rebalance)
            for joined, newcomer in _newcomers(changes, left):
                vacant_seconds = _vacant_seconds(changes[joined], change, newcomer, rule, same=joined == left)
                if vacant_seconds is None or newcomer.member_id in taken or profile is None:
                    continue
                if vacant_seconds and last_joined.get(gone.member_id, -1) >= left:
                    continue  # the consumer stayed alive: its seat would have been given up
                if member_profile(newcomer, changes[joined].rebalance) == profile:
                    taken.add(newcomer.member_id)
                    partitions = count_partitions(gone.assigned)
                    yield _Handover(left, joined, gone.member_id, newcomer.member_id, partitions, vacant_seconds)
                    break


def _newcomers(changes: Sequence[RecordedChange], left: int) -> Iterator[tuple[int, MemberSnapshot]]:
    """Yield the dynamic members that joined before, in and after rebalance ``left``, in this order."""
    for index, change in enumerate(changes):
        if change.deploys or index < left:
            yield from ((index, member) for member in change.joined if member.instance_id is None)


def _vacant_seconds(
    came: RecordedChange, went: RecordedChange, newcomer: MemberSnapshot, rule: SeatRule, *, same: bool
) -> float | None:
    """Return the longest time for which the seat would have been vacant; None if the newcomer may not have got it."""
    if came.started_ms is None or went.started_ms is None:
        return None
    epochs = went.rebalance.closing.group_type is GroupType.CONSUMER
    if came.happened_ms <= went.started_ms and not same:
        half = (newcomer.rebalance_timeout_ms or 0) / 1000 * WAITING_SHARE
        patience = EPOCH_PATIENCE_SECONDS if epochs else half
        return 0.0 if (went.happened_ms - came.started_ms) / 1000 <= min(rule.hold_seconds, patience) else None
    kept = min(rule.keep_seconds, EPOCH_KEPT_SECONDS - EPOCH_HEARTBEAT_SECONDS) if epochs else rule.keep_seconds
    vacant_seconds = (came.happened_ms - went.started_ms) / 1000
    return vacant_seconds if 0 <= vacant_seconds <= kept else None
