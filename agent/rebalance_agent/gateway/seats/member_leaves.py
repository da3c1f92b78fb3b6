"""Decides whether the gateway answers a LeaveGroup of a member with a seat itself, or forwards it."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.group_facts import GroupFacts, GroupPhase, successor_waits
from rebalance_agent.gateway.seats.held_joins import HeldJoins
from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast, leave_refusal
from rebalance_agent.gateway.seats.rules.wait_times import kept_until
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable
from rebalance_agent.gateway.seats.seat_acts import (
    AnswerLeave,
    DescribeSeats,
    ForwardLeave,
    HoldLeave,
    ReleaseLock,
    SeatAct,
)
from rebalance_agent.gateway.seats.seat_keeper import SeatKeeper

__all__ = ["MemberLeaves"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A LeaveGroup that waits until ``until`` for a description of the group; ``kept_until``: the seat's deadline.

    ``wanted``: keep the seat even if no newcomer waits for it at another gateway.
    """

    until: float
    kept_until: float
    wanted: bool


class MemberLeaves:
    """Decides about LeaveGroups that contain only a member id. At most one LeaveGroup waits for each seat."""

    def __init__(self, table: SeatTable, keeper: SeatKeeper, held: HeldJoins, facts: GroupFacts) -> None:
        """Start without waiting LeaveGroups."""
        self._table, self._keeper, self._held, self._facts = table, keeper, held, facts
        self._asked: dict[str, _Asked] = {}

    def leave(
        self, seat: Seat, reason: str | None, forecast: LeaveForecast, now: float, epoch_seconds: float
    ) -> list[SeatAct]:
        """Handle a LeaveGroup, after all earlier requests on that connection were answered.

        The group is described first if the last description is too old, since the group's protocol may have changed. It
        is also described if only a newcomer at another gateway could be the successor, since that newcomer may already
        have a seat.
        """
        settings = self._facts.settings
        until = kept_until(settings, now, epoch_seconds)
        if not forecast.worth_keeping:
            until = min(until, now + settings.handover_seconds)  # keep the seat only for a newcomer that already waits
        refusal = leave_refusal(reason, forecast, stable=self._stable(seat), successor=self._held.matching(seat))
        seat.for_newcomer = not forecast.worth_keeping
        if refusal is None and self._facts.seatable(now):
            return self._keep(seat, until, now)
        if refusal not in (None, GiveUpReason.NO_SUCCESSOR):
            return self._send(seat, refusal, now)
        asked = self._asked[seat.member_id] = _Asked(now + settings.leave_seconds, until, refusal is None)
        return [HoldLeave(seat.member_id, asked.until), DescribeSeats()]

    def described(self, now: float) -> list[SeatAct]:
        """Decide about all waiting LeaveGroups after a description of the group."""
        return [act for member_id in tuple(self._asked) for act in self._decide(member_id, now)]

    def due(self, now: float) -> list[SeatAct]:
        """Decide about the LeaveGroups whose wait has ended by ``now``."""
        late = [member_id for member_id, asked in self._asked.items() if asked.until <= now]
        return [act for member_id in late for act in self._decide(member_id, now)]

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no LeaveGroup waits."""
        return min((asked.until for asked in self._asked.values()), default=None)

    def abandoned(self, seat: Seat, now: float) -> list[SeatAct]:
        """Pass a seat to another newcomer, or give it up, since its consumer disconnected before the response."""
        seat.process, seat.for_newcomer = None, True
        if self._stable(seat) and self._held.matching(seat):
            return self._vacate(seat, now, now)
        return [*self._keeper.give_up(seat, GiveUpReason.CRASHED, now), *self._held.advance(now)]

    def unwanted(self, now: float) -> list[SeatAct]:
        """Give up seats kept for a newcomer that has disconnected, unless another newcomer waits at any gateway."""
        roster = self._facts.known_roster(now)
        elsewhere = {one.fingerprint for one in roster.waiting} if roster is not None else set()
        acts: list[SeatAct] = []
        for seat in [seat for seat in self._table if seat.state is SeatState.VACANT and seat.for_newcomer]:
            waits = self._held.wants(seat) or (seat.profile is not None and seat.profile.fingerprint in elsewhere)
            if not waits:
                acts += self._keeper.give_up(seat, GiveUpReason.NO_SUCCESSOR, now)
        return acts

    def stop(self, seat: Seat) -> list[SeatAct]:
        """Forward the member's LeaveGroup, since seats are off."""
        self._asked.pop(seat.member_id, None)
        return [ForwardLeave(seat.member_id, None), *self._keeper.lost(seat)]

    def stop_all(self) -> list[SeatAct]:
        """Forward all LeaveGroups that wait, since seats are off."""
        seats = [self._table.of_member(member_id) for member_id in self._asked]
        return [act for seat in seats if seat is not None for act in self.stop(seat)]

    def _decide(self, member_id: str, now: float) -> list[SeatAct]:
        asked, seat = self._asked.pop(member_id), self._table.of_member(member_id)
        if seat is None:
            return [ForwardLeave(member_id, None)]  # no longer in a seat: the coordinator answers with an error
        if not self._stable(seat):
            return self._send(seat, GiveUpReason.REBALANCE, now)
        if not (asked.wanted or self._successor(seat, now)):
            return self._send(seat, GiveUpReason.NO_SUCCESSOR, now)
        if not self._facts.seatable(now):
            return self._send(seat, GiveUpReason.GROUP_TYPE, now)
        return self._keep(seat, asked.kept_until, now)

    def _stable(self, seat: Seat) -> bool:
        """Whether the group is stable and the member has its seat, even if its process has closed its connections."""
        here = seat.state in (SeatState.OCCUPIED, SeatState.DISCONNECTED)
        return here and self._facts.phase is GroupPhase.STABLE

    def _successor(self, seat: Seat, now: float) -> bool:
        return self._held.matching(seat) or successor_waits(seat, self._table, self._facts.known_roster(now))

    def _send(self, seat: Seat, refusal: GiveUpReason, now: float) -> list[SeatAct]:
        return [ForwardLeave(seat.member_id, refusal), *self._keeper.lost(seat), *self._held.advance(now)]

    def _keep(self, seat: Seat, until: float, now: float) -> list[SeatAct]:
        if seat.state is SeatState.DISCONNECTED:
            seat.process = None  # the process is ending, since it asked to leave
        return [AnswerLeave(seat.member_id), *self._vacate(seat, until, now)]

    def _vacate(self, seat: Seat, until: float, now: float) -> list[SeatAct]:
        acts = self._keeper.vacate(seat, until, now)
        if self._held.matching(seat):
            # If a newcomer of this gateway takes the seat, the lock is kept.
            seat.locked = any(isinstance(act, ReleaseLock) for act in acts)
            acts = self._held.advance(now)
        return acts
