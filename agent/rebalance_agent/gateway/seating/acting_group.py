"""One group in mode ``on``: frames wait for decisions, and seats are kept and given up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from rebalance_agent.gateway.seat_rules import SeatRule
from rebalance_agent.gateway.seating.act_carrier import ActCarrier
from rebalance_agent.gateway.seating.acts.act_outcomes import ActOutcomes
from rebalance_agent.gateway.seating.acts.vacancies import Vacancies
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection, seen_host
from rebalance_agent.gateway.seating.connections.topic_watch import TopicWatch
from rebalance_agent.gateway.seating.seated_group import GrantedSeat, JoinResult
from rebalance_agent.gateway.seating.shared_parts import SharedParts
from rebalance_agent.gateway.seats.group_facts import GroupPhase
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.rules.seat_answers import JoinAnswer
from rebalance_agent.gateway.seats.rules.wait_times import held_seconds_max
from rebalance_agent.gateway.seats.saved_seats import SavedSeat
from rebalance_agent.gateway.seats.seat import EpochBeat, SeatState
from rebalance_agent.gateway.seats.seat_acts import ForwardJoin, ForwardSeated
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED, NO_ERROR, REBALANCE_IN_PROGRESS
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["ActingGroup"]

OVERDUE_SECONDS = 2.0
"""A JoinGroup or LeaveGroup is forwarded without a decision this many seconds after its wait should have ended."""


class ActingGroup:
    """See `SeatedGroup`."""

    def __init__(self, group: str, rule: SeatRule, seats: GroupSeats, shared: SharedParts) -> None:
        """Start without members."""
        self.group, self._rule, self._seats, self._shared = group, rule, seats, shared
        self._clock, self._report = shared.clock, shared.report
        self._vacancies = Vacancies(group, seats, shared.clock, shared.report)
        self._carrier = ActCarrier(group, seats, shared, self._vacancies, between=rule.between)
        self._connections = self._carrier.connections
        self._topics = TopicWatch(group, seats.table, self._connections)
        self._returns: dict[int, tuple[ForwardSeated, float]] = {}  # each with the seconds of its JoinGroup's wait
        self._outcomes = ActOutcomes(group, seats.group_type, self._vacancies, shared.report, self._carrier.stop)
        self._unfenced = False

    @property
    def group_type(self) -> GroupType:
        """See `SeatedGroup`."""
        return self._seats.group_type

    @property
    def wrong(self) -> bool:
        """See `SeatedGroup`."""
        return self._outcomes.wrong

    # -- newcomers ---------------------------------------------------------------------------------------------

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> GrantedSeat | None:
        """See `SeatedGroup`."""
        self._connections.use(connection)
        decision: asyncio.Future[ForwardJoin | ForwardSeated] = asyncio.get_running_loop().create_future()
        self._carrier.joins[newcomer.join] = decision
        epoch_seconds = self._clock.now_ms() / 1000
        self._vacancies.succeeded(newcomer.former)
        self._carrier.run(self._seats.join(newcomer, self._carrier.now(), epoch_seconds))
        since, settings = self._clock.monotonic(), self._seats.settings
        overdue = held_seconds_max(settings, newcomer.patience_seconds) + OVERDUE_SECONDS
        try:
            act = await asyncio.wait_for(self._shared.watch.while_connected(connection, decision), overdue)
        except TimeoutError as error:
            self._report.failed(Act.HOLD, self.group, error)
            self.withdraw(newcomer)
            return None
        except BaseException:
            self.withdraw(newcomer)
            raise
        if isinstance(act, ForwardSeated):
            if connection.hung_up():
                self.withdraw(newcomer)
                raise ConnectionAbortedError("the client disconnected while its request waited")
            now = self._clock.monotonic()
            self._outcomes.admitted(newcomer.join, act.joint, now)
            self._returns[newcomer.join] = act, round(now - since, 1)
            seat = self._seats.table.get(act.instance_id)
            return GrantedSeat(act.instance_id, "" if seat is None else seat.member_id)
        if not newcomer.member_id:
            self._report.report(Act.PASS_JOIN, ActOutcome.DONE, self.group, reason=str(act.reason))
        return None

    def seated(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> bool:
        """See `SeatedGroup`."""
        sent, held_seconds = self._returns.pop(newcomer.join)
        stable, gone = self._seats.facts.phase is GroupPhase.STABLE, connection.hung_up()
        seat = sent.instance_id
        before, former = self._carrier.generation_before(seat), self._carrier.former_member(seat)
        error, member_id, generation = result.error, result.member_id, result.generation
        acts, verdict = self._seats.join_answered(
            newcomer.join, error, member_id, generation, leads=result.leads, now=self._carrier.now()
        )
        act = Act.HANDOVER if sent.returns else Act.SEAT
        facts = {**former, "instance_id": sent.instance_id, "member_id": member_id, "generation": generation}
        facts |= {"client_id": newcomer.client_id, "host": seen_host(connection), "group_type": self.group_type}
        outcome = ActOutcome.DONE if error == NO_ERROR else ActOutcome.REFUSED
        self._report.report(act, outcome, self.group, error=error, **facts)
        self._outcomes.joined(newcomer.join, sent.joint, error, self._carrier.now(), held_seconds, facts)
        if error == NO_ERROR:
            self._connections.use(connection, sent.instance_id)
            spares = sent.returns and stable and not gone
            self._vacancies.taken(sent.instance_id, member_id, stable=spares)
            self._carrier.run(self._carrier.sharing.taken(sent.instance_id))
            self._carrier.kept_seat(sent.instance_id, ActOutcome.RIGHT)
            if spares:
                self._outcomes.handed_over(member_id, before, generation, self._carrier.now())
        self._moved(error, connection)
        self._carrier.run(acts)
        if error == NO_ERROR and gone:
            self._carrier.run(self._seats.abandoned(member_id, self._carrier.now()))
        return verdict is JoinAnswer.SHOW

    def withdraw(self, newcomer: Newcomer) -> None:
        """See `SeatedGroup`."""
        self._carrier.joins.pop(newcomer.join, None)
        self._returns.pop(newcomer.join, None)
        self._outcomes.withdrawn(newcomer.join)
        self._carrier.run(self._seats.withdraw(newcomer.join, self._carrier.now()))

    def join_answered(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> int:
        """See `SeatedGroup`."""
        if newcomer.instance_id is not None:
            return result.error
        self._vacancies.heard(newcomer.member_id)
        if result.error == NO_ERROR:
            self._outcomes.rejoined(newcomer.member_id)
        facts = newcomer, result.error, result.generation
        acts, shown = self._seats.rejoin_answered(*facts, leads=result.leads, now=self._carrier.now())
        self.answered(newcomer.member_id, result.error, connection, newcomer.process or 0)
        self._moved(result.error, connection)
        self._carrier.run(acts)
        return shown

    # -- members -----------------------------------------------------------------------------------------------

    def sync_answered(self, member_id: str, error: int, partitions: int) -> int:
        """See `SeatedGroup`."""
        self._vacancies.heard(member_id)
        self._outcomes.answered(member_id, error, self._carrier.now())
        acts, shown = self._seats.sync_answered(member_id, error, self._carrier.now())
        if error == NO_ERROR:
            self._vacancies.assigned(member_id, partitions)
        self._carrier.run(acts)
        return shown

    def heartbeat_answered(self, member_id: str, error: int, beat: EpochBeat | None = None) -> int:
        """See `SeatedGroup`."""
        self._vacancies.heard(member_id)
        now, epoch = self._carrier.now(), None if beat is None else beat.epoch
        self._outcomes.answered(member_id, error, now, epoch)
        acts, shown = self._seats.heartbeat_answered(member_id, error, now, beat)
        self._carrier.run(acts)
        return shown

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """See `SeatedGroup`. Only an accepted request of a connected client proves that the member is alive."""
        if error not in (NO_ERROR, REBALANCE_IN_PROGRESS) or not member_id or connection.hung_up():
            return
        seat = self._seats.table.of_member(member_id)
        self._connections.use(connection, None if seat is None else seat.instance_id)
        self._seats.seen(member_id, process)

    def seat_of(self, member_id: str) -> str | None:
        """See `SeatedGroup`."""
        seat = self._seats.table.of_member(member_id)
        return None if seat is None else seat.instance_id

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:
        """See `SeatedGroup`."""
        return await self._carrier.is_member(member_id, connection)

    async def leaves(self, member_id: str, reason: str | None, connection: ClientConnection) -> bool:
        """See `SeatedGroup`."""
        self._outcomes.left(member_id)
        await connection.answered()  # including commits: a successor continues where this consumer stopped
        seat = self._seats.table.of_member(member_id)
        if seat is not None:
            self._connections.use(connection, seat.instance_id)
        decision: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._carrier.leaves.setdefault(member_id, []).append(decision)
        epoch_seconds = self._clock.now_ms() / 1000
        try:
            acts = self._seats.leave(member_id, reason, self._rule.forecast, self._carrier.now(), epoch_seconds)
            self._carrier.run(acts)
            return await asyncio.wait_for(decision, self._seats.settings.leave_seconds + OVERDUE_SECONDS)
        except TimeoutError as error:
            self._report.failed(Act.KEEP, self.group, error)
            self._carrier.run(self._seats.leave_undecided(member_id))
            return False
        finally:
            self._carrier.withdraw_leave(member_id, decision)
            self._vacancies.settle()

    def leave_refused(self, member_id: str, error: int) -> None:
        """See `SeatedGroup`."""
        self._carrier.leave_refused(member_id, error)
        self._vacancies.settle()

    def refuse_unfenced(self) -> None:
        """See `SeatedGroup`."""
        self._unfenced = True
        self._carrier.stop()

    # -- connections -------------------------------------------------------------------------------------------

    def client_ended(self, connection: ClientConnection, process: int) -> None:
        """See `SeatedGroup`."""
        self._connections.client_ended(connection)
        self._seats.ended(process)

    def crashed(self, process: int) -> None:
        """See `SeatedGroup`."""
        self._carrier.run(self._seats.connections_closed(process, self._carrier.now()))
        self._vacancies.settle()
        self._shared.changed()

    def connections_opened(self, process: int) -> None:
        """See `SeatedGroup`."""
        self._seats.connections_opened(process)
        self._vacancies.settle()

    def needs(self, connection: ClientConnection, *, may_have_crashed: bool) -> bool:
        """See `SeatedGroup`."""
        return self._connections.needed(connection, may_have_crashed=may_have_crashed)

    def forget(self, connection: ClientConnection) -> None:
        """See `SeatedGroup`."""
        self._connections.forget(connection)

    # -- time --------------------------------------------------------------------------------------------------

    def due(self) -> None:
        """See `SeatedGroup`."""
        self._carrier.run(self._carrier.sharing.due())
        now = self._carrier.now()
        self._outcomes.due(now)
        self._vacancies.due(now)
        self._carrier.run(self._seats.due(now))
        self._vacancies.settle()
        if self._topics.due(now):
            self._shared.start(self._look_at_topics(), Act.HANDOVER, self.group)

    def next_due(self) -> float | None:
        """See `SeatedGroup`."""
        parts = self._seats, self._topics, self._carrier.sharing, self._outcomes, self._vacancies
        return min((time for part in parts if (time := part.next_due()) is not None), default=None)

    def stop(self, *, keep: bool = False) -> None:
        """See `SeatedGroup`."""
        self._carrier.stop(keep=keep and self._rule.keep_stopped)

    def go_on(self) -> None:
        """See `SeatedGroup`."""
        if not (self._unfenced or self.wrong):
            self._carrier.go_on()

    @property
    def held(self) -> int:
        """See `SeatedGroup`."""
        return len(self._seats.held)

    @property
    def vacant(self) -> int:
        """See `SeatedGroup`."""
        return sum(seat.state is SeatState.VACANT for seat in self._seats.table)

    @property
    def idle(self) -> bool:
        """See `SeatedGroup`."""
        parts = self._carrier.sharing, self._vacancies, self._outcomes
        unfinished = any(part.next_due() is not None for part in parts)
        return self._seats.idle and not unfinished

    def saved(self) -> tuple[SavedSeat, ...]:
        """See `SeatedGroup`."""
        return () if self._unfenced or self.wrong else self._seats.saved(self._clock.monotonic())

    def restore(self, seats: Iterable[SavedSeat], elapsed_seconds: float) -> None:
        """See `SeatedGroup`."""
        self._seats.restore(seats, elapsed_seconds, self._clock.monotonic())

    async def _look_at_topics(self) -> None:
        if await self._topics.changed():
            self._seats.topics_changed()

    def _moved(self, error: int, connection: ClientConnection) -> None:
        """Drop a connection to a broker that is no longer the coordinator."""
        if error in COORDINATOR_MOVED:
            self._connections.forget(connection)
