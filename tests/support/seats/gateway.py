"""A gateway of the model: executes the acts of `GroupSeats`, and can be paused, disconnected and killed."""

from __future__ import annotations

from functools import singledispatchmethod

from rebalance_agent.gateway.seats import GatewaySeats
from rebalance_agent.gateway.seats.group_facts import FreeSeat, GroupPhase, SeatsRoster, WaitingElsewhere
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.rules.leave_rules import LeaveForecast
from rebalance_agent.gateway.seats.rules.seat_answers import JoinAnswer
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
    HoldLeave,
    KeepSeat,
    ReleaseLock,
)
from rebalance_agent.model.group import GroupType
from support.seats.coordinator import NONE, NOT_COORDINATOR, REBALANCING

CONFIRM_SECONDS = 3.0


class ModelGateway:
    """One gateway. ``inbox``: received frames and responses; ``outbox``: pending acts."""

    GROUP_TYPE = GroupType.CLASSIC

    def __init__(self, number, world):
        self.number, self.world = number, world
        self.up, self.paused, self.cut_off = True, False, False
        self.saved = ()
        self.changed_frames = 0
        self.joins = {}
        self.arrived = {}
        self._start()

    def _start(self):
        world = self.world
        self.token = f"{self.number}-{world.next_number()}"
        self.core = GatewaySeats(world.settings, world.mode, self.token)
        self.seats = self.core.of("g", group_type=self.GROUP_TYPE)
        self.inbox, self.outbox = [], []
        self.joins.clear()
        self.arrived.clear()
        self.confirm_at = self.resumed_at = world.now

    # -- faults ------------------------------------------------------------------------------------------------

    def kill(self):
        self.up, self.paused = False, False
        for client in self.clients():
            if client.connected:
                client.on_disconnect(self.world.now, 0.5)

    def resume(self):
        self.paused, self.resumed_at = False, self.world.now

    def restart(self):
        saved, at = self.saved, self.world.now - self.stopped_at if hasattr(self, "stopped_at") else 0.0
        self.up = True
        self._start()
        if self.seats is not None:
            self.seats.restore(saved, at, self.world.now)

    def clients(self):
        return [one for one in self.world.clients if one.gateway is self and one.alive]

    def opened(self, client):
        if self.seats is not None:
            self.put(lambda: self.seats.connections_opened(client.process))

    def closed(self, client):
        """The process closed its connections, or ended."""
        if self.up and self.seats is not None:

            def gone():
                for join in [number for number, one in self.joins.items() if one is client]:
                    del self.joins[join]
                    self.arrived.pop(join, None)
                    self._do(self.seats.withdraw(join, self.world.now))
                self._do(self.seats.connections_closed(client.process, self.world.now))

            self.put(gone)

    # -- time --------------------------------------------------------------------------------------------------

    def put(self, what):
        if self.up:
            self.inbox.append(what)

    def step(self):
        if not self.up or self.paused:
            return
        now = self.world.now
        self.flush()
        while self.inbox:
            self.inbox.pop(0)()
        if self.seats is not None:
            self._confirm(now)
            while (due := self.seats.next_due()) is not None and due <= now:
                self._do(self.seats.due(now))
                assert self.seats.next_due() is None or self.seats.next_due() > now, "due() did not settle"
            self.saved, self.stopped_at = self.seats.saved(now), now
        if not self.world.slow_acts:
            self.flush()

    def flush(self):
        while self.outbox:
            acts, self.outbox = self.outbox, []
            for act in acts:
                self._act(act)

    def _confirm(self, now):
        if self.cut_off or now < self.confirm_at:
            return
        self.confirm_at = now + CONFIRM_SECONDS
        for seat in self.seats.table:
            if seat.locked:
                mine = self.world.locks.claim(seat.instance_id, self, now)
                self._do(self.seats.lock_answered(seat.instance_id, granted=mine, now=now))

    # -- frames of clients -------------------------------------------------------------------------------------

    def join(self, client):
        if self.seats is None:
            self._forward(client, None)
            return
        client.join = self.world.next_number()
        self.joins[client.join] = client
        client.join_connection = client.connection
        self.arrived[client.join] = self.world.now
        self._do(self.seats.join(self._newcomer(client), self.world.now, self.world.now))

    def _newcomer(self, client):
        return Newcomer(
            join=client.join,
            version=client.version,
            profile=client.profile,
            member_id=client.member_id,
            patience_seconds=client.patience,
            process=client.process,
            unfenced_commits=client.unfenced,
        )

    def sync(self, client):
        def answered(error, partitions):
            shown = error
            if self.seats is not None:
                acts, shown = self.seats.sync_answered(client.member_id, error, self.world.now)
                self._do(acts)
            client.answer(connection, lambda: client.on_sync(shown, partitions))

        connection = client.connection
        coordinator = self.world.coordinator
        coordinator.sync(self.world.now, client.member_id, client.generation, lambda *a: self.put(lambda: answered(*a)))

    def heartbeat(self, client):
        shown = error = self.world.coordinator.heartbeat(self.world.now, client.member_id, client.generation)
        if self.seats is not None:
            if error in (NONE, REBALANCING):
                self.seats.seen(client.member_id)
            acts, shown = self.seats.heartbeat_answered(client.member_id, error, self.world.now)
            self._do(acts)
        client.answer(client.connection, lambda: client.on_heartbeat(shown))

    def leave(self, member_id, process, reason, *, closes):
        if self.seats is None:
            self.world.coordinator.leave(self.world.now, member_id, None)
            return
        acts = self.seats.leave(member_id, reason, self.world.forecast, self.world.now, self.world.now)
        self._do(acts)
        if closes:
            self._do(self.seats.connections_closed(process, self.world.now))

    # -- acts --------------------------------------------------------------------------------------------------

    def _do(self, acts):
        self.outbox += acts

    def _act(self, act):
        if not isinstance(act, HoldJoin | HoldLeave | ContinueSeat):
            self._carry_out(act)

    @singledispatchmethod
    def _carry_out(self, act):
        raise NotImplementedError(act)

    @_carry_out.register
    def _(self, act: ForwardJoin):
        self.arrived.pop(act.join, None)
        if (client := self.joins.pop(act.join, None)) is not None:
            self._forward(client, None)

    @_carry_out.register
    def _(self, act: ForwardSeated):
        self.arrived.pop(act.join, None)
        self.changed_frames += 1
        if (client := self.joins.get(act.join)) is not None:
            self._forward(client, act.instance_id, act.join)

    @_carry_out.register
    def _(self, act: ForwardLeave):
        self.world.coordinator.leave(self.world.now, act.member_id, None)

    @_carry_out.register
    def _(self, _act: AnswerLeave):
        self.changed_frames += 1

    @_carry_out.register
    def _(self, act: KeepSeat):
        if self.world.now <= act.until:
            error = self.world.coordinator.heartbeat(self.world.now, act.member_id, act.generation)
            self.put(lambda: self._do(self.seats.kept(act.instance_id, act.member_id, error, self.world.now)))

    @_carry_out.register
    def _(self, act: GiveUpSeat):
        assert act.member_id, "a LeaveGroup by instance id alone removes any member that has the seat"
        error = self.world.coordinator.leave(self.world.now, act.member_id, act.instance_id)
        self.put(lambda: self._do(self.seats.given_up(act.instance_id, act.member_id, error, self.world.now)))

    @_carry_out.register
    def _(self, act: ClaimLock):
        if not self.cut_off:
            granted = self.world.locks.claim(act.instance_id, self, self.world.now)
            self.put(lambda: self._locked(act.instance_id, granted))

    @_carry_out.register
    def _(self, act: ReleaseLock):
        if not self.cut_off:
            self.world.locks.release(act.instance_id, self)

    @_carry_out.register
    def _(self, _act: DescribeSeats):
        if not self.cut_off and self.world.coordinator.available:
            roster = self._roster()
            self.put(lambda: self._do(self.seats.described(roster, self.world.now)))

    def _taken(self, instance_id):
        """Called when a newcomer has got the seat; nothing to do, because its lock is kept."""

    def _locked(self, instance_id, granted):
        self._do(self.seats.lock_answered(instance_id, granted=granted, now=self.world.now))

    def _forward(self, client, instance_id, join=None):
        """Send a JoinGroup, with the instance id of a seat or unchanged."""

        def answered(joined):
            if connection != client.connection or not client.alive:
                return
            if instance_id is not None:
                leads = joined.leader == joined.member_id
                acts, verdict = self.seats.join_answered(
                    join, joined.error, joined.member_id, joined.generation, leads=leads, now=self.world.now
                )
                self._do(acts)
                if verdict is JoinAnswer.RESEND:
                    return
                assert joined.error in (NONE, NOT_COORDINATOR), "the error of a changed frame reached the client"
                self.joins.pop(join, None)
                client.seated = joined.error == NONE
                if client.seated:
                    self._taken(instance_id)
            elif self.seats is not None:
                leads = joined.leader == joined.member_id
                acts, joined.error = self.seats.rejoin_answered(
                    asked_by, joined.error, joined.generation, leads=leads, now=self.world.now
                )
                self._do(acts)
            client.answer(connection, lambda: client.on_join(joined))

        asked, connection = client.member_id, client.connection
        asked_by = None if self.seats is None else self._newcomer(client)
        if self.seats is not None and connection != client.join_connection:
            return  # the client is gone; `closed` reports this to the core
        assert instance_id is None or not (asked or client.unfenced), "a frame that may not be changed was changed"
        self.world.coordinator.join(
            self.world.now,
            asked,
            instance_id,
            client.profile,
            client.session,
            client.process,
            lambda joined: self.put(lambda: answered(joined)),
        )

    def _roster(self):
        world, coordinator = self.world, self.world.coordinator
        seated = [one for one in coordinator.members.values() if one.instance_id is not None]
        free = tuple(
            FreeSeat(one.instance_id, one.profile.fingerprint, leads=one.member_id == coordinator.leader)
            for one in seated
            if world.locks.free(one.instance_id, world.now)
        )
        waiting = tuple(
            WaitingElsewhere(other.joins[join].profile.fingerprint, other.joins[join].version)
            for other in world.gateways
            if other is not self and not other.cut_off
            for join in other.arrived
            if join in other.joins
        )
        phase = GroupPhase(coordinator.state)
        return SeatsRoster(
            phase=phase, members=len(coordinator.members), seated=len(seated), free=free, waiting=waiting
        )


CHEAP, DEAR = LeaveForecast(1.0, 10.0), LeaveForecast(10.0, 1.0)
