"""Tracks JoinGroups that were sent with an instance id: their answers show which consumer has the seat."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.group_facts import GroupFacts, GroupPhase
from rebalance_agent.gateway.seats.rules.act_reasons import PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import LastMember, Newcomer
from rebalance_agent.gateway.seats.rules.seat_answers import JoinAnswer, join_answer
from rebalance_agent.gateway.seats.rules.wait_times import Admission
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable
from rebalance_agent.gateway.seats.seat_acts import ForwardJoin, ForwardSeated, SeatAct
from rebalance_agent.gateway.seats.seat_keeper import SeatKeeper
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR, UNRELEASED_INSTANCE_ID

__all__ = ["SeatedJoins"]


@dataclass(frozen=True, slots=True)
class _Sent:
    """An unanswered JoinGroup. ``state``, ``process``: the seat's former ones; ``returns``: another member had it."""

    newcomer: Newcomer
    seat: Seat
    state: SeatState | None
    process: int | None
    returns: bool


class SeatedJoins:
    """The unanswered JoinGroups of one group: one for each client, and at most one for each seat."""

    def __init__(self, table: SeatTable, keeper: SeatKeeper, facts: GroupFacts) -> None:
        """Start without unanswered JoinGroups."""
        self._table, self._keeper, self._facts = table, keeper, facts
        self._sent: dict[int, _Sent] = {}

    def send(self, newcomer: Newcomer, instance_id: str, last: LastMember | None, joint: Admission | None) -> SeatAct:
        """Send a newcomer's JoinGroup with the instance id of a seat whose lock this gateway has.

        ``last``: the seat's last member, None for a new seat. ``joint``: see `ForwardSeated`.
        """
        seat = self._table.get(instance_id)
        before = None if seat is None else seat.state
        if seat is None:
            seat = Seat(instance_id, newcomer.profile, SeatState.JOINING, leads=last is not None and last.leads)
            self._table.add(seat)
        self._sent[newcomer.join] = _Sent(newcomer, seat, before, seat.process, last is not None)
        seat.state, seat.locked, seat.process = SeatState.JOINING, True, newcomer.process
        return ForwardSeated(newcomer.join, instance_id, returns=last is not None, joint=joint)

    def answered(
        self, join: int, error: int, member_id: str, generation: int, *, leads: bool, now: float
    ) -> tuple[list[SeatAct], JoinAnswer]:
        """Process the coordinator's answer; ``leads``: the answer names the new member as leader.

        If a leader returns with a JoinGroup below v9, the response names its predecessor as leader, so the seat's
        ``leads`` counts, too.
        """
        sent = self._sent.pop(join, None)
        if sent is None:
            return [], JoinAnswer.SHOW
        verdict = join_answer(error)
        if error != NO_ERROR:
            own: list[SeatAct] = []
            if verdict is JoinAnswer.RESEND:
                own = [ForwardJoin(join, PlainReason.COORDINATOR)]
            if error == UNRELEASED_INSTANCE_ID and sent.state is not None:
                sent.seat.state = SeatState.OCCUPIED  # the last member or another one has the seat
                return own, verdict
            return [*own, *self._restore(sent)], verdict
        seat = sent.seat
        self._table.rename(seat, member_id)
        seat.returned = sent.returns and self._facts.phase is GroupPhase.STABLE
        seat.leads = leads or (seat.returned and seat.leads)
        seat.profile, seat.version = sent.newcomer.profile, sent.newcomer.version
        seat.state, seat.generation, seat.heard_at = SeatState.OCCUPIED, generation, now
        if not seat.returned:
            self._facts.phase = GroupPhase.COMPLETING
        return [], verdict

    def withdraw(self, join: int) -> list[SeatAct]:
        """Restore the seat's previous state after the connection of a JoinGroup was closed before the answer.

        The newcomer may have got the seat. If so, the coordinator refuses the heartbeat for the predecessor, and
        removes the newcomer like a consumer that crashed.
        """
        sent = self._sent.pop(join, None)
        return [] if sent is None else self._restore(sent)

    def _restore(self, sent: _Sent) -> list[SeatAct]:
        seat = sent.seat
        if sent.state is None:
            return self._keeper.forget(seat)
        seat.state, seat.process = sent.state, sent.process
        return []
