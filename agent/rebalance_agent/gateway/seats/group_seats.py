"""The state machine for one group's seats at one gateway: processes events of the group and returns acts.

It uses no clock, sockets or threads. ``now`` is in seconds of the caller's monotonic clock, ``epoch_seconds`` in
seconds since the epoch. Acts are values (`seat_acts`); callers must carry them out in the returned order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rebalance_agent.gateway.seats.group_facts import GroupFacts, GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.held_joins import HeldJoins
from rebalance_agent.gateway.seats.member_leaves import MemberLeaves
from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason, PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import SKIP_ASSIGNMENT_VERSION, Newcomer, seat_refusal
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast
from rebalance_agent.gateway.seats.rules.seat_answers import (
    FENCED,
    JoinAnswer,
    shown_error,
)
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.rules.wait_times import Admission, join_wait
from rebalance_agent.gateway.seats.saved_seats import RestoredSeats, SavedSeat, save
from rebalance_agent.gateway.seats.seat import EpochBeat, Seat, SeatState, SeatTable
from rebalance_agent.gateway.seats.seat_acts import (
    ClaimLock,
    ContinueSeat,
    ForwardJoin,
    ForwardLeave,
    SeatAct,
)
from rebalance_agent.gateway.seats.seat_keeper import SeatKeeper
from rebalance_agent.gateway.seats.seated_joins import SeatedJoins
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED, NO_ERROR, REBALANCE_IN_PROGRESS
from rebalance_agent.model.group import GroupType

__all__ = ["GroupSeats"]


class GroupSeats:
    """One group's seats, vacant seats and held newcomers.

    ``new_names`` yields instance ids that were never used (see `HeldJoins`). For members with their own instance id,
    callers pass only JoinGroups and their answers. For other members, callers pass all requests and answers, even if no
    seat is known: a gateway that lost its list no longer has the seats that it gave.
    """

    def __init__(
        self, settings: SeatSettings, new_names: Iterator[str], group_type: GroupType = GroupType.CLASSIC
    ) -> None:
        """Start without seats; ``group_type``: classic, or consumer (KIP-848: member epochs count as generations)."""
        self.settings, self.group_type = settings, group_type
        self.table = SeatTable(settings)
        classic = group_type is GroupType.CLASSIC
        self.facts = GroupFacts(settings, GroupPhase.UNKNOWN if classic else GroupPhase.STABLE)
        self.keeper = SeatKeeper(self.table, settings, by_heartbeats=classic)
        self._seated = SeatedJoins(self.table, self.keeper, self.facts)
        self.held = HeldJoins(self.table, self.keeper, self._seated, self.facts, new_names)
        self._leaves = MemberLeaves(self.table, self.keeper, self.held, self.facts)
        self._restored = RestoredSeats(self.table, settings)
        self._stopped = False

    @property
    def idle(self) -> bool:
        """Whether there is no seat and no held JoinGroup."""
        return not (len(self.table) or len(self.held) or len(self._restored))

    # -- newcomers ---------------------------------------------------------------------------------------------

    def join(self, newcomer: Newcomer, now: float, epoch_seconds: float) -> list[SeatAct]:
        """Handle a JoinGroup that has arrived."""
        refusal = seat_refusal(newcomer, mixed_group=self.facts.mixed(now))
        if refusal is None and self._stopped:
            return [ForwardJoin(newcomer.join, PlainReason.OFF)]
        if refusal is None:
            for process in newcomer.former:
                self.keeper.succeeded(process, now)
            wait = join_wait(self.settings, newcomer.patience_seconds, now, epoch_seconds)
            if newcomer.was_member:
                wait = replace(wait, admission=Admission(now), unseated_admission=Admission(now))
            return self.held.add(newcomer, wait, now)
        return [ForwardJoin(newcomer.join, refusal)]

    def join_answered(
        self, join: int, error: int, member_id: str, generation: int, *, leads: bool, now: float
    ) -> tuple[list[SeatAct], JoinAnswer]:
        """Process the response to a JoinGroup with a seat's instance id; also return what to do with the response."""
        acts, verdict = self._seated.answered(join, error, member_id, generation, leads=leads, now=now)
        comes_back = error in COORDINATOR_MOVED and not self._stopped  # the client will rejoin at the new coordinator
        return [*acts, *self.held.advance(now), *([] if comes_back else self._unwanted(now))], verdict

    def rejoin_answered(
        self, newcomer: Newcomer, error: int, generation: int, *, leads: bool, now: float
    ) -> tuple[list[SeatAct], int]:
        """Process the response to a member's own JoinGroup; also return the error code for the client.

        The content of the JoinGroup counts only once it is accepted, since any client may name any member.
        """
        seat, acts = self._answered(newcomer.member_id, error, now)
        if seat is None:
            return acts, shown_error(error)
        if error == NO_ERROR:
            seat.generation, seat.leads, seat.returned = generation, leads, False
            seat.profile, seat.version = newcomer.profile, newcomer.version
            if seat.state is SeatState.VACANT and self.group_type is GroupType.CONSUMER:
                seat.state = SeatState.OCCUPIED  # the member had left, and returned with the same member id
            self.facts.phase = GroupPhase.COMPLETING
        return [*acts, *self._after_error(seat, error, now)], shown_error(error)

    def sync_answered(self, member_id: str, error: int, now: float) -> tuple[list[SeatAct], int]:
        """Process the response to a member's SyncGroup; also return the error code for the client."""
        seat, acts = self._answered(member_id, error, now)
        if seat is None:
            return acts, shown_error(error)
        if error == NO_ERROR and self.facts.phase is not GroupPhase.STABLE:
            self.facts.phase = GroupPhase.STABLE
            return [*acts, *self.held.advance(now)], error
        return [*acts, *self._after_error(seat, error, now)], shown_error(error)

    def withdraw(self, join: int, now: float) -> list[SeatAct]:
        """Drop a JoinGroup whose connection was closed before the response."""
        if self.held.undecided(join):
            self.held.withdraw(join, now)
            return []  # the newcomer had claimed no seat, so no seat became free for others
        acts = [*self.held.withdraw(join, now), *self._seated.withdraw(join), *self.held.advance(now)]
        return [*acts, *self._unwanted(now)]

    def abandoned(self, member_id: str, now: float) -> list[SeatAct]:
        """Handle a seat that was given to a newcomer whose client disconnected before the response."""
        seat = self.table.of_member(member_id)
        return [] if seat is None else self._leaves.abandoned(seat, now)

    # -- members -----------------------------------------------------------------------------------------------

    def seen(self, member_id: str, process: int | None = None) -> None:
        """Record that the coordinator accepted a member's own request, so that its ``process`` is alive.

        Call this only if the client is still connected when its request is answered.
        """
        seat = self.table.of_member(member_id)
        if seat is not None:
            self.keeper.seen(seat, process)

    def heartbeat_answered(
        self, member_id: str, error: int, now: float, beat: EpochBeat | None = None
    ) -> tuple[list[SeatAct], int]:
        """Process the answer to a member's own heartbeat; also return the error code for the client.

        ``beat``: the epoch and profile after the heartbeat (KIP-848); None in classic groups.

        A returned leader that must detect a changed topic gets REBALANCE_IN_PROGRESS once: it then rejoins and leads a
        rebalance.
        """
        seat, acts = self._answered(member_id, error, now)
        if seat is None:
            return (self._rebalancing(now) if error == REBALANCE_IN_PROGRESS else acts), shown_error(error)
        if error == NO_ERROR and beat is not None:
            seat.beaten(beat)
        if error == NO_ERROR and seat.rejoin_due:
            seat.rejoin_due = False
            return acts, REBALANCE_IN_PROGRESS
        return [*acts, *self._after_error(seat, error, now)], shown_error(error)

    def leave(
        self, member_id: str, reason: str | None, forecast: LeaveForecast, now: float, epoch_seconds: float
    ) -> list[SeatAct]:
        """Handle a LeaveGroup with only a member id, after all earlier requests on its connection were answered.

        Earlier commits are therefore answered, and a successor reads from where this consumer stopped.
        """
        seat = self.table.of_member(member_id)
        if seat is None:
            return [ForwardLeave(member_id, None)]
        if self._stopped:
            return self._leaves.stop(seat)
        return self._leaves.leave(seat, reason, forecast, now, epoch_seconds)

    def leave_undecided(self, member_id: str) -> list[SeatAct]:
        """Forward a LeaveGroup that waited for too long: the member has no seat from now on."""
        seat = self.table.of_member(member_id)
        return [] if seat is None else self._leaves.stop(seat)

    def connections_closed(self, process: int, now: float) -> list[SeatAct]:
        """Record that a process itself closed all its connections: neither a broker nor the gateway closed them."""
        self.keeper.connections_closed(process, now)
        return self.held.advance(now)

    def connections_opened(self, process: int) -> None:
        """Record that a process that had closed all its connections has opened a connection again."""
        self.keeper.connections_opened(process)

    def ended(self, process: int) -> None:
        """Record that a process has ended after its members left."""
        self.keeper.ended(process)

    def topics_changed(self) -> None:
        """Process changed partitions of the topics: leaders that returned with a JoinGroup below v9 must rejoin."""
        for seat in self.table:
            blind = seat.returned and seat.leads and seat.version < SKIP_ASSIGNMENT_VERSION
            seat.rejoin_due |= blind and seat.state is SeatState.OCCUPIED

    # -- the gateway's own requests ----------------------------------------------------------------------------

    def lock_answered(self, instance_id: str, *, granted: bool, now: float) -> list[SeatAct]:
        """Process an answer about a lock: the lock was granted or confirmed, or (``granted`` False) refused or lost."""
        self.facts.lock_answered(now)
        seat = self.table.get(instance_id)
        if seat is not None and (not granted or seat.state not in (SeatState.VACANT, SeatState.GIVEN_UP)):
            seat.locked = granted
        return self.held.lock_answered(instance_id, granted=granted, now=now)

    def described(self, roster: SeatsRoster, now: float) -> list[SeatAct]:
        """Process a description of the group and its locks.

        If a group with known members is described as not existing, the group has another protocol.
        """
        acts = [] if roster.exists else self.keeper.forget_expired(now)
        if not roster.exists and any(seat.member_id for seat in self.table):
            roster = replace(roster, mixed=True, phase=self.facts.phase)
        self.facts.described(roster, now)
        acts += self._leaves.described(now)
        if roster.phase is GroupPhase.PREPARING:
            return [*acts, *self._rebalancing(now)]
        return [*acts, *self.held.advance(now)]

    def kept(self, instance_id: str, member_id: str, error: int | None, now: float) -> list[SeatAct]:
        """Process the answer to a `KeepSeat`; ``error``: None if there was no answer."""
        self._heard(self.table.of_member(member_id), error, now)
        acts = self.keeper.kept(instance_id, member_id, error, now)
        if error == REBALANCE_IN_PROGRESS:
            return [*acts, *self._rebalancing(now)]
        return [*acts, *self.held.advance(now)] if acts else []

    def given_up(self, instance_id: str, member_id: str, error: int | None, now: float) -> list[SeatAct]:
        """Process the answer to a `GiveUpSeat`; ``error``: None if there was no answer."""
        return [*self.keeper.given_up(instance_id, member_id, error), *self.held.advance(now)]

    # -- time and restart --------------------------------------------------------------------------------------

    def due(self, now: float) -> list[SeatAct]:
        """Return the acts that are due by ``now``. Call this at `next_due`; late calls are harmless."""
        self._restored.due(now)
        return [*self._leaves.due(now), *self.keeper.due(now), *self.held.advance(now)]

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no call is needed before another input."""
        times = (part.next_due() for part in (self._leaves, self.keeper, self.held, self._restored))
        return min((time for time in times if time is not None), default=None)

    def saved(self, now: float) -> tuple[SavedSeat, ...]:
        """Return the seats that must be known after a restart of the gateway."""
        return (*save(self.table, now, self.group_type), *self._restored.saved())

    def restore(self, seats: Iterable[SavedSeat], elapsed_seconds: float, now: float) -> None:
        """Restore the seats ``elapsed_seconds`` after they were saved; `due` then returns acts for them."""
        self._restored.add(seats, elapsed_seconds, now)

    def stop(self, now: float, *, keep: bool = False) -> list[SeatAct]:
        """Stop giving and keeping seats; members with a seat continue. ``keep``: leave vacant seats unchanged."""
        self._stopped = True
        return [*self.held.stop(), *self._leaves.stop_all(), *([] if keep else self._unwanted(now))]

    def go_on(self) -> None:
        """Give and keep seats again after `stop`; members that have a seat are still known."""
        self._stopped = False

    # -- inside ------------------------------------------------------------------------------------------------

    def _unwanted(self, now: float) -> list[SeatAct]:
        """Give up vacant seats for which no newcomer waits any longer."""
        if not self._stopped:
            return self._leaves.unwanted(now)
        vacant = [seat for seat in self.table if seat.state is SeatState.VACANT]
        return [act for seat in vacant for act in self.keeper.give_up(seat, GiveUpReason.NO_SUCCESSOR, now)]

    def _answered(self, member_id: str, error: int, now: float) -> tuple[Seat | None, list[SeatAct]]:
        """Return the seat of a member whose request was answered; it may be from before a restart of the gateway."""
        seat, acts = self.table.of_member(member_id), list[SeatAct]()
        if seat is None and error in (NO_ERROR, REBALANCE_IN_PROGRESS):
            seat = self._restored.confirmed(member_id)
            acts = [] if seat is None else [ContinueSeat(seat.instance_id), ClaimLock(seat.instance_id)]
        self._heard(seat, error, now)
        return seat, acts

    @staticmethod
    def _heard(seat: Seat | None, error: int | None, now: float) -> None:
        """Process the answer to a request of a seat's member; an accepted request restarts the member's session."""
        if seat is not None and error in (NO_ERROR, REBALANCE_IN_PROGRESS):
            seat.heard_at = now

    def _after_error(self, seat: Seat, error: int, now: float) -> list[SeatAct]:
        if error == REBALANCE_IN_PROGRESS:
            return self._rebalancing(now)
        return [*self.keeper.lost(seat), *self.held.advance(now)] if error in FENCED else []

    def _rebalancing(self, now: float) -> list[SeatAct]:
        self.facts.phase = GroupPhase.PREPARING
        return [*self.keeper.rebalancing(now), *self.held.advance(now)]
