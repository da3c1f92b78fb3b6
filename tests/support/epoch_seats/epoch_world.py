"""The world of the model in a group of KIP-848: gateways and clients of an `EpochCoordinator`."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.gateway.seats.group_facts import GroupPhase, SeatsRoster
from rebalance_agent.gateway.seats.rules.join_profile import epoch_profile
from rebalance_agent.gateway.seats.rules.seat_answers import JoinAnswer
from rebalance_agent.gateway.seats.seat import EpochBeat
from rebalance_agent.gateway.seats.seat_acts import AnswerLeave, KeepSeat
from rebalance_agent.model.group import GroupType
from support.epoch_seats.epoch_coordinator import AWAY, FENCED_EPOCH, JOINS, EpochCoordinator
from support.seats.clients import ModelClient
from support.seats.coordinator import FENCED, NONE, NOT_COORDINATOR, UNKNOWN
from support.seats.gateway import ModelGateway
from support.seats.sharing_gateway import SharingGateway
from support.seats.world import World

__all__ = ["EpochModelClient", "EpochModelGateway", "EpochSharingGateway", "EpochWorld"]

KNOWN = {NONE, NOT_COORDINATOR, UNKNOWN, FENCED_EPOCH}
"""Error codes that a dynamic member may get."""


class EpochModelClient(ModelClient):
    """A client of KIP-848, which keeps its member id until it ends."""

    def on_join(self, answer):
        self.waiting = None
        self._show(answer.error)
        if answer.error == NONE:
            self.generation, self.owned, self.state = answer.epoch, answer.partitions, "in"

    def on_heartbeat(self, answer):
        self.waiting = None
        self._show(answer.error)
        if answer.error == NONE:
            self.generation = answer.epoch
            self.owned = self.owned if answer.partitions is None else answer.partitions
        elif answer.error != NOT_COORDINATOR:
            self.lose()

    def lose(self):
        self.generation, self.owned, self.state, self.seated = -1, frozenset(), "out", False


class EpochModelGateway(ModelGateway):
    """A gateway for a group of KIP-848. ``leaving``: member id -> instance id of members with a seat that leave."""

    GROUP_TYPE = GroupType.CONSUMER

    def _start(self):
        super()._start()
        self.leaving = {}

    def _newcomer(self, client):
        known = self.seats.table.of_member(client.member_id) is not None
        member_id = client.member_id if known else ""
        return replace(super()._newcomer(client), member_id=member_id, group_type=self.GROUP_TYPE)

    def heartbeat(self, client):
        answer = self.world.coordinator.heartbeat(self.world.now, client.member_id, client.generation)
        shown = answer.error
        if self.seats is not None:
            now = self.world.now
            if shown == NONE:
                self.seats.seen(client.member_id)
            acts, shown = self.seats.heartbeat_answered(client.member_id, answer.error, now, EpochBeat(answer.epoch))
            self._do(acts)
            if answer.partitions is not None:
                self._do(self.seats.sync_answered(client.member_id, NONE, now)[0])
        client.answer(client.connection, lambda: client.on_heartbeat(replace(answer, error=shown)))

    def leave(self, member_id, process, reason, *, closes):
        seat = None if self.seats is None else self.seats.table.of_member(member_id)
        if seat is not None:
            self.leaving[member_id] = seat.instance_id
        super().leave(member_id, process, None, closes=closes)

    def _act(self, act):
        if isinstance(act, KeepSeat):
            self._keep(act)
            return
        if not isinstance(act, AnswerLeave):
            super()._act(act)
            return
        self.changed_frames += 1
        member_id, instance_id = act.member_id, self.leaving.pop(act.member_id)
        error = self.world.coordinator.heartbeat(self.world.now, member_id, AWAY, instance_id).error
        if error not in (NONE, FENCED):
            self._do(self.seats.kept(instance_id, member_id, error, self.world.now))
            self.world.coordinator.leave(self.world.now, member_id, None)

    def _keep(self, act):
        """Do nothing: the coordinator keeps the member without the gateway."""

    def _forward(self, client, instance_id, join=None):
        """Send a first heartbeat, with the instance id of a seat or unchanged."""
        connection, world = client.connection, self.world
        who = None if self.seats is None else self._newcomer(client)
        if self.seats is not None and connection != client.join_connection:
            return  # the client is gone; `closed` reports this to the core
        if instance_id is not None:
            assert not who.member_id, "a frame that may not be changed was changed"
            assert not client.unfenced, "a frame that may not be changed was changed"
            seat = self.seats.table.get(instance_id)
            if seat is not None and seat.member_id:
                world.coordinator.heartbeat(world.now, seat.member_id, AWAY, instance_id)
        answer = world.coordinator.heartbeat(world.now, client.member_id, JOINS, instance_id, client.profile)
        self.put(lambda: self._joined(client, connection, who, answer, instance_id, join))

    def _joined(self, client, connection, who, answer, instance_id, join):
        if connection != client.connection or not client.alive:
            return
        now, member_id, error = self.world.now, client.member_id, answer.error
        if instance_id is not None:
            acts, verdict = self.seats.join_answered(join, error, member_id, answer.epoch, leads=False, now=now)
            self._do(acts)
            if verdict is JoinAnswer.RESEND:
                return
            assert error in (NONE, NOT_COORDINATOR), "the error of a changed frame reached the client"
            self.joins.pop(join, None)
            client.seated = error == NONE
        elif self.seats is not None:
            self._do(self.seats.rejoin_answered(who, error, answer.epoch, leads=False, now=now)[0])
        if self.seats is not None and error == NONE:
            self._do(self.seats.sync_answered(member_id, NONE, now)[0])
        client.answer(connection, lambda: client.on_join(answer))

    def _roster(self):
        members = self.world.coordinator.members.values()
        phase = GroupPhase.STABLE if members else GroupPhase.EMPTY
        seated = sum(one.instance_id is not None for one in members)
        return SeatsRoster(phase=phase, members=len(members), seated=seated)


class EpochSharingGateway(SharingGateway, EpochModelGateway):
    """An `EpochModelGateway` that shares locks with other gateways."""

    def _keep(self, act):
        now = self.world.now
        if now <= act.until:
            error = self.world.coordinator.heartbeat(now, act.member_id, AWAY, act.instance_id).error
            self.put(lambda: self._do(self.seats.kept(act.instance_id, act.member_id, error, self.world.now)))

    def _still_there(self, check):
        if not self.world.coordinator.available:
            return NOT_COORDINATOR
        one = self.world.coordinator.members.get(check.member_id)
        away = one is not None and (one.instance_id, one.epoch) == (check.instance_id, AWAY)
        return NONE if away else UNKNOWN


class EpochWorld(World):
    """A `World` with a group of KIP-848."""

    COORDINATOR, CLIENT, GATEWAY, KNOWN_ERRORS = EpochCoordinator, EpochModelClient, EpochModelGateway, KNOWN
    PROFILES = tuple(epoch_profile(topics, "", 60_000) for topics in (["t"], ["t", "u"], ["v"]))

    def start(self, gateway, **client):
        one = super().start(gateway, **client)
        one.member_id = f"client-{one.process}"
        return one

    def send_join(self, client):
        if client.gateway is not None:
            super().send_join(client)
            return
        answer = self.coordinator.heartbeat(self.now, client.member_id, JOINS, None, client.profile)
        client.answer(client.connection, lambda: client.on_join(answer))

    def send_heartbeat(self, client):
        if client.gateway is not None:
            super().send_heartbeat(client)
            return
        answer = self.coordinator.heartbeat(self.now, client.member_id, client.generation)
        client.answer(client.connection, lambda: client.on_heartbeat(answer))
