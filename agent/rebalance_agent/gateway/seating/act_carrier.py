"""Carries out the acts of one group: resumes waiting frames, and sends the gateway's own requests."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from functools import singledispatchmethod

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seat_rules import Between
from rebalance_agent.gateway.seating.acts.vacancies import Vacancies
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seating.connections.coordinator_requests import (
    ClassicRequests,
    GroupRequests,
    heartbeat,
)
from rebalance_agent.gateway.seating.connections.epoch_requests import EpochRequests
from rebalance_agent.gateway.seating.connections.group_connections import ANSWER_SECONDS, GroupConnections
from rebalance_agent.gateway.seating.seat_sharing import SeatSharing
from rebalance_agent.gateway.seating.shared_parts import SharedParts
from rebalance_agent.gateway.seats.group_facts import SeatsRoster
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.seat_answers import FENCED
from rebalance_agent.gateway.seats.seat import SeatState
from rebalance_agent.gateway.seats.seat_acts import (
    AnswerLeave,
    ClaimLock,
    ContinueSeat,
    DescribeSeats,
    ForwardJoin,
    ForwardLeave,
    ForwardSeated,
    GiveUpSeat,
    HoldJoin,
    KeepSeat,
    ReleaseLock,
    SeatAct,
)
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR, UNKNOWN_MEMBER_ID
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["ActCarrier"]


class ActCarrier:
    """The acts of one group of one gateway.

    ``joins``: number of a JoinGroup -> the pending decision about it. ``leaves``: member id -> the pending decisions
    whether the gateway answers the member's LeaveGroup itself, one for each LeaveGroup that waits. ``sharing``: the
    seats that gateways offer each other.
    """

    def __init__(
        self, group: str, seats: GroupSeats, shared: SharedParts, vacancies: Vacancies, *, between: Between
    ) -> None:
        """Start without pending acts; ``between``: see `SeatRule`."""
        self.group, self.seats, self._shared = group, seats, shared
        self._clock, self._report, self._vacancies = shared.clock, shared.report, vacancies
        classic = seats.group_type is GroupType.CLASSIC
        self._requests: GroupRequests = ClassicRequests() if classic else EpochRequests()
        self.connections = GroupConnections(seats.table)
        self._keeps = classic or between is not Between.NO
        locks = shared.lock_requests(group, between)
        self.sharing = SeatSharing(group, seats, self.connections, self._requests, shared, self.run, locks)
        self.joins: dict[int, asyncio.Future[ForwardJoin | ForwardSeated]] = {}
        self.leaves: dict[str, list[asyncio.Future[bool]]] = {}
        self._kept: dict[str, str] = {}
        self._given_up: dict[str, ActOutcome] = {}
        self._stopped = False

    def now(self) -> float:
        """Return the time of the next step. Locks count as confirmed until one has gone unconfirmed for too long."""
        now = self._clock.monotonic()
        if self.sharing.fresh(now):
            self.seats.facts.lock_answered(now)
        return now

    def run(self, acts: Iterable[SeatAct]) -> None:
        """Carry out ``acts`` and the acts that follow from them, without waiting for the coordinator."""
        waiting = deque(acts)
        if waiting:
            while waiting:
                waiting.extend(self._done(waiting.popleft()))
            self.share()

    def share(self) -> None:
        """Send changes of shared facts to other gateways soon."""
        self.sharing.look()
        self._shared.changed()

    def stop(self, *, keep: bool = False) -> None:
        """Stop giving, keeping and sharing seats; ``keep``: leave vacant seats to the next gateway."""
        self._stopped = True
        self.run([*self.seats.stop(self.now(), keep=keep), *self.sharing.stop()])

    def go_on(self) -> None:
        """Give, keep and share seats again after `stop`."""
        self._stopped = False
        self.seats.go_on()
        self.sharing.go_on()

    def kept_seat(self, instance_id: str, outcome: ActOutcome) -> None:
        """Report the outcome of a kept seat, if this seat was kept."""
        member_id = self._kept.pop(instance_id, None)
        if member_id is not None:
            self._report.report(Act.KEEP, outcome, self.group, instance_id=instance_id, member_id=member_id)

    def generation_before(self, instance_id: str) -> int:
        """Return the generation or group epoch in which a handover would need no rebalance; -1 if unknown."""
        if self.seats.group_type is GroupType.CONSUMER:
            roster = self.seats.facts.known_roster(self._clock.monotonic())
            return -1 if roster is None else roster.epoch
        seat = self.seats.table.get(instance_id)
        return -1 if seat is None else seat.generation

    def former_member(self, instance_id: str) -> dict[str, object]:
        """Return facts of a handover: the seat's last member, and by which time (epoch ms) the member had stopped."""
        seat = self.seats.table.get(instance_id)
        if seat is None or not seat.member_id:
            return {}  # the last member was behind another gateway
        ago_seconds = self._clock.monotonic() - seat.vacant_since
        return {
            "former_member_id": seat.member_id,
            "stopped_ms": self._clock.now_ms() - round(1000 * ago_seconds),
        }

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:
        """See `SeatedGroup`. False in KIP-848 groups: members leave on the connection of their heartbeats."""
        seat = self.seats.table.of_member(member_id)
        if seat is None or self.seats.group_type is GroupType.CONSUMER:
            return False
        names = seat.generation, member_id, seat.instance_id
        try:
            error = await asyncio.wait_for(heartbeat(connection.ask, self.group, *names), ANSWER_SECONDS)
        except (TimeoutError, ConnectionError, DecodeError):
            return False
        return error == NO_ERROR

    def leave_refused(self, member_id: str, error: int) -> None:
        """See `SeatedGroup`."""
        seat = self.seats.table.of_member(member_id)
        if seat is not None:
            self.run(self.seats.kept(seat.instance_id, member_id, error, self.now()))

    @singledispatchmethod
    def _done(self, act: SeatAct) -> list[SeatAct]:  # noqa: ARG002 - HoldLeave: nothing to do
        return []

    @_done.register
    def _(self, act: ClaimLock) -> list[SeatAct]:
        return self.sharing.claim(act.instance_id)

    @_done.register
    def _(self, act: ReleaseLock) -> list[SeatAct]:
        return self.sharing.release(act.instance_id)

    @_done.register
    def _(self, act: HoldJoin) -> list[SeatAct]:
        held_seconds = round(act.until - self._clock.monotonic(), 1)
        self._report.report(Act.HOLD, ActOutcome.DONE, self.group, held_seconds_max=held_seconds)
        return []

    @_done.register(ForwardJoin | ForwardSeated)
    def _(self, act: ForwardJoin | ForwardSeated) -> list[SeatAct]:
        waiting = self.joins.pop(act.join, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(act)
        return []

    @_done.register
    def _(self, act: ContinueSeat) -> list[SeatAct]:
        self._report.report(Act.RESTORE, ActOutcome.DONE, self.group, instance_id=act.instance_id)
        return []

    @_done.register
    def _(self, act: ForwardLeave) -> list[SeatAct]:
        self._answer_leave(act.member_id, answered=False)
        reason = str(act.reason) if act.reason else "no_seat"
        self._report.report(Act.PASS_LEAVE, ActOutcome.DONE, self.group, member_id=act.member_id, reason=reason)
        return []

    @_done.register
    def _(self, act: AnswerLeave) -> list[SeatAct]:
        self._answer_leave(act.member_id, answered=True)
        seat, facts = self.seats.table.of_member(act.member_id), {}
        if seat is not None:
            facts = {"instance_id": seat.instance_id, "generation": seat.generation}
            self._kept[seat.instance_id] = act.member_id
            self._kept = {name: one for name, one in self._kept.items() if self.seats.table.get(name) is not None}
        self._report.report(Act.KEEP, ActOutcome.DONE, self.group, member_id=act.member_id, **facts)
        return []

    @_done.register
    def _(self, act: KeepSeat) -> list[SeatAct]:
        if self._keeps:  # otherwise the coordinator itself keeps the seat until the session ends
            self._shared.start(self._keep(act), Act.KEEP, self.group)
        return []

    @_done.register
    def _(self, act: GiveUpSeat) -> list[SeatAct]:
        self.kept_seat(act.instance_id, ActOutcome.UNKNOWN if self._stopped else ActOutcome.WRONG)
        self._shared.start(self._give_up(act), Act.GIVE_UP, self.group)
        return []

    @_done.register
    def _(self, act: DescribeSeats) -> list[SeatAct]:  # noqa: ARG002
        self._shared.start(self._describe(), Act.HOLD, self.group)
        return []

    def withdraw_leave(self, member_id: str, decision: asyncio.Future[bool]) -> None:
        """Drop a waiting LeaveGroup; LeaveGroups of the same member on other connections keep waiting."""
        waiting = self.leaves.get(member_id, [])
        if decision in waiting:
            waiting.remove(decision)
        if not waiting:
            self.leaves.pop(member_id, None)

    def _answer_leave(self, member_id: str, *, answered: bool) -> None:
        for waiting in self.leaves.pop(member_id, ()):
            if not waiting.done():
                waiting.set_result(answered)

    async def _keep(self, act: KeepSeat) -> None:
        if self._clock.monotonic() > act.until:
            return
        names = self.group, act.generation, act.member_id, act.instance_id
        error = await self.connections.by_connection(
            lambda connection: self._requests.keep(connection, *names), act.instance_id
        )
        if error in FENCED:
            self.kept_seat(act.instance_id, ActOutcome.RIGHT)  # a newcomer behind another gateway has the seat
        self.run(self.seats.kept(act.instance_id, act.member_id, error, self.now()))

    async def _give_up(self, act: GiveUpSeat) -> None:
        error = await self.connections.by_connection(
            lambda connection: self._requests.leave(connection, self.group, act.member_id, act.instance_id),
            act.instance_id,
        )
        outcome = {NO_ERROR: ActOutcome.DONE, None: ActOutcome.FAILED}.get(error, ActOutcome.REFUSED)
        facts = {"instance_id": act.instance_id, "reason": str(act.reason), "error": error}
        if self._given_up.get(act.instance_id) is not outcome:  # the request is repeated until it is accepted
            self._given_up[act.instance_id] = outcome
            self._report.report(Act.GIVE_UP, outcome, self.group, member_id=act.member_id, **facts)
        if error == NO_ERROR:
            self._vacancies.removed(act.member_id)
        self.run(self.seats.given_up(act.instance_id, act.member_id, error, self.now()))
        self._given_up = {name: last for name, last in self._given_up.items() if self.seats.table.get(name) is not None}

    async def _describe(self) -> None:
        member_ids = [seat.member_id for seat in self.seats.table if seat.state is SeatState.OCCUPIED]
        described = await self.connections.by_connection(
            lambda connection: self._requests.describe(connection, self.group)
        )
        if described is None:
            return  # the newcomer's JoinGroup is forwarded unchanged
        if described.exists:
            # No frame shows that the coordinator removed a member that vanished.
            for member_id in [member_id for member_id in member_ids if member_id not in described.members]:
                self.run(self.seats.heartbeat_answered(member_id, UNKNOWN_MEMBER_ID, self.now())[0])
        free, waiting = await self.sharing.elsewhere(described.seats)
        roster = SeatsRoster(
            phase=described.phase,
            members=len(described.members),
            seated=len(described.seats),
            free=free,
            waiting=waiting,
            mixed=not described.consumers,
            exists=described.exists,
            epoch=described.epoch,
        )
        self.run(self.seats.described(roster, self.now()))
        self.share()
