"""Mode ``observe``: counts the decisions of `GroupSeats`, while all frames are forwarded unchanged.

The same state machine decides. Its acts are counted instead of carried out, and each act is assumed to have its usual
outcome. The state machine is therefore in the state of a group with seats, while the real group rebalances.

The prediction covers only members behind one gateway: a successor behind another gateway does not count.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatchmethod

from rebalance_agent.gateway.seats.group_facts import GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast
from rebalance_agent.gateway.seats.rules.wait_times import Admission
from rebalance_agent.gateway.seats.seat import EpochBeat
from rebalance_agent.gateway.seats.seat_acts import (
    AnswerLeave,
    ClaimLock,
    DescribeSeats,
    ForwardSeated,
    GiveUpSeat,
    KeepSeat,
    SeatAct,
)
from rebalance_agent.groupprotocol.wire.error_codes import UNKNOWN_MEMBER_ID
from rebalance_agent.model.group import GroupType

__all__ = ["PredictedSeats", "SeatTally"]


@dataclass(slots=True)
class SeatTally:
    """The savings and losses that the acts so far would have caused.

    ``rebalances_saved_min``: one for each handover. Without seats a member's leave starts a rebalance. The successor's
    join may fall into the same rebalance, so it is not counted. ``partition_seconds_lost_max``: all partitions of a
    member for every second in which its seat was vacant, although the rebalances would also have stopped some of these
    partitions. ``acts``: the number of decisions for each kind of act.

    ``joint``: the number of newcomers that would have joined at a multiple of the admission period;
    ``rebalances_merged_min``: how many of these newcomers joined in a later generation than another newcomer with the
    same multiple; ``waited_seconds``: how long the newcomers would have waited.
    """

    rebalances_saved_min: int = 0
    partition_seconds_lost_max: float = 0.0
    acts: Counter[str] = field(default_factory=Counter)
    joint: int = 0
    rebalances_merged_min: int = 0
    waited_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Vacancy:
    partitions: int
    since: float


class PredictedSeats:
    """The predicted seats of one group behind one gateway. For times, see `GroupSeats`."""

    def __init__(self, seats: GroupSeats) -> None:
        """Predict what ``seats`` would decide; no other object may use ``seats``."""
        self._seats = seats
        self.tally = SeatTally()
        self._join_of: dict[str, int] = {}
        self._generations: dict[int, int] = {}
        self._merged: tuple[int, set[int]] = 0, set()
        self._vacant: dict[str, _Vacancy] = {}
        self._leaving: tuple[str, _Vacancy] | None = None
        self._now = 0.0

    def joined(
        self, newcomer: Newcomer, member_id: str, now: float, epoch_seconds: float, generation: int = -1
    ) -> None:
        """Process a newcomer's forwarded JoinGroup: the newcomer is the member ``member_id`` since ``generation``."""
        self._seats.facts.lock_answered(now)
        while len(self._join_of) >= self._seats.settings.seats_max:
            self._forget_oldest(now)
        self._join_of[member_id] = newcomer.join
        self._generations[newcomer.join] = generation
        self._count(self._seats.join(newcomer, now, epoch_seconds), now)

    def left(
        self,
        member_id: str,
        reason: str | None,
        forecast: LeaveForecast,
        now: float,
        epoch_seconds: float,
        *,
        partitions: int,
        stable: bool,
    ) -> None:
        """Process the forwarded LeaveGroup of a member with this number of ``partitions``.

        ``stable``: the group was stable.
        """
        join = self._join_of.pop(member_id, None)
        if join is None:
            return
        self._generations.pop(join, None)
        self._seats.facts.lock_answered(now)
        self._count(self._seats.withdraw(join, now), now)
        self._seats.facts.phase = GroupPhase.STABLE if stable else GroupPhase.PREPARING
        self._leaving = _predicted(join), _Vacancy(partitions, now)
        self._count(self._seats.leave(_predicted(join), reason, forecast, now, epoch_seconds), now)
        self._seats.facts.phase = GroupPhase.STABLE

    def beaten(self, member_id: str, beat: EpochBeat) -> None:
        """Record that a heartbeat of a member was accepted (KIP-848)."""
        seat = self._seats.table.of_member(_predicted(self._join_of.get(member_id, 0)))
        if seat is not None:
            seat.beaten(EpochBeat(seat.generation, beat.profile))

    def due(self, now: float) -> None:
        """Count the decisions that are due by ``now``; call this at `next_due`."""
        self._seats.facts.lock_answered(now)
        self._count(self._seats.due(now), now)

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no call is needed before another input."""
        return self._seats.next_due()

    def _forget_oldest(self, now: float) -> None:
        """Drop the member that joined first: a member may have vanished without leaving."""
        join = self._join_of.pop(next(iter(self._join_of)))
        self._generations.pop(join, None)
        self._count(self._seats.withdraw(join, now), now)
        self._count(self._seats.heartbeat_answered(_predicted(join), UNKNOWN_MEMBER_ID, now)[0], now)

    def _count(self, acts: Iterable[SeatAct], now: float) -> None:
        self._now, waiting = now, deque(acts)
        while waiting:
            act = waiting.popleft()
            self.tally.acts[type(act).__name__] += 1
            waiting.extend(self._outcome(act))

    @singledispatchmethod
    def _outcome(self, act: SeatAct) -> list[SeatAct]:  # noqa: ARG002 - most acts have no consequence
        return []

    @_outcome.register
    def _(self, act: ClaimLock) -> list[SeatAct]:
        return self._seats.lock_answered(act.instance_id, granted=True, now=self._now)

    @_outcome.register
    def _(self, act: DescribeSeats) -> list[SeatAct]:  # noqa: ARG002
        seats = len(self._seats.table)
        return self._seats.described(SeatsRoster(phase=GroupPhase.STABLE, members=seats, seated=seats), self._now)

    @_outcome.register
    def _(self, act: ForwardSeated) -> list[SeatAct]:
        member_id, generation = _predicted(act.join), 0
        if act.joint is not None:
            self._admitted(act.join, act.joint)
        self._end(act.instance_id, saved=1)
        acts, _ = self._seats.join_answered(act.join, 0, member_id, generation, leads=False, now=self._now)
        return [*acts, *self._seats.sync_answered(member_id, 0, self._now)[0]]

    @_outcome.register
    def _(self, act: AnswerLeave) -> list[SeatAct]:
        seat = self._seats.table.of_member(act.member_id)
        if seat is not None and self._leaving is not None and self._leaving[0] == act.member_id:
            self._vacant[seat.instance_id] = self._leaving[1]
        return []

    @_outcome.register
    def _(self, act: KeepSeat) -> list[SeatAct]:
        return self._seats.kept(act.instance_id, act.member_id, 0, self._now)

    @_outcome.register
    def _(self, act: GiveUpSeat) -> list[SeatAct]:
        self._end(act.instance_id, saved=0)
        return self._seats.given_up(act.instance_id, act.member_id, 0, self._now)

    def _admitted(self, join: int, admission: Admission) -> None:
        """Count a newcomer that would have joined with others, and the separate rebalance that it actually caused."""
        self.tally.joint += 1
        self.tally.waited_seconds += max(0.0, self._now - admission.alone_at)
        generation = self._generations.pop(join, -1)
        if self._merged[0] != admission.multiple:
            self._merged = admission.multiple, set()
        others = self._merged[1]
        if others and generation not in others and self._seats.group_type is GroupType.CLASSIC:
            self.tally.rebalances_merged_min += 1
        others.add(generation)

    def _end(self, instance_id: str, saved: int) -> None:
        """End the vacancy of a seat."""
        vacancy = self._vacant.pop(instance_id, None)
        if vacancy is not None:
            self.tally.rebalances_saved_min += saved
            self.tally.partition_seconds_lost_max += vacancy.partitions * (self._now - vacancy.since)


def _predicted(join: int) -> str:
    """Return the predicted member id of a newcomer."""
    return f"predicted-{join}"
