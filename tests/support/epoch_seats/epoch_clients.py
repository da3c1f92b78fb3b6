"""Clients of KIP-848 that send frames to a gateway with seats, in front of the model's coordinator."""

from __future__ import annotations

from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT, UNCHANGED
from rebalance_agent.model.group import SEAT_LOCKS_PREFIX
from support.epoch_seats.epoch_coordinator import JOINS, LEAVES, EpochCoordinator
from support.epoch_seats.epoch_frames import beaten, described
from support.gateway.seat_clients import GROUP, SeatClient, SeatGateway

__all__ = ["EpochClient", "EpochGateway"]


class EpochGateway(SeatGateway):
    """A gateway in front of a coordinator of KIP-848.

    ``heartbeats``: those that reached it, decoded. ``refused``: member epoch -> error code of the next such request
    with an instance id. ``before_answer``: called before each answer to a heartbeat.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        shared = self.beside.epochs if self.beside is not None else EpochCoordinator()
        self.epochs, self.heartbeats, self.refused = shared, [], {}
        self.described = 0
        self.coordinator.versions[69] = 1
        self.before_answer = lambda _asked: None

    def broker(self, frame):
        now = self.clock.monotonic()
        if SEAT_LOCKS_PREFIX.encode() in frame:
            return self.coordinator.locks(frame)
        self.epochs.tick(now)
        if read_head(frame).api_key != CONSUMER_HEARTBEAT.key:
            self.described += 1
            return described(frame, self.epochs)
        asked = CONSUMER_HEARTBEAT.decode_request(read_head(frame).api_version, frame)
        self.heartbeats.append(asked)
        self.before_answer(asked)
        error = self.refused.pop(asked["member_epoch"], None) if asked["instance_id"] is not None else None
        return beaten(frame, self.epochs, now, error)

    def sent(self, epoch):
        """The instance ids of the requests with a member epoch, in their order."""
        return [asked["instance_id"] for asked in self.heartbeats if asked["member_epoch"] == epoch]


class EpochClient(SeatClient):
    """One consumer; ``version``: that of its heartbeats. With version 1 it chooses its member id, and keeps it."""

    def __init__(self, gateway, client_id="app", version=1, host="127.0.0.1"):
        super().__init__(gateway, client_id, version, host)
        self.member_id = f"{client_id}-{id(self)}" if version else ""
        self.partitions, self.errors = None, []

    async def beat(self, epoch, **changes):
        """Send a heartbeat, and return its answer's error code."""
        fields = {
            **UNCHANGED,
            "group_id": GROUP,
            "member_id": self.member_id,
            "member_epoch": epoch,
            **changes,
        }
        frame = CONSUMER_HEARTBEAT.encode_request(self.version, next(self._numbers), self.client_id, fields)
        answer = CONSUMER_HEARTBEAT.decode_answer(self.version, await self._sent(frame))
        if not answer["error_code"]:
            self.member_id, self.generation = answer["member_id"] or self.member_id, answer["member_epoch"]
            if answer["assignment"] is not None:
                self.partitions = [p for one in answer["assignment"]["topic_partitions"] for p in one["partitions"]]
        self.errors.append(answer["error_code"])
        return answer["error_code"]

    async def enter(self, **fields):
        """Join; returns itself."""
        usual = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
        assert await self.beat(JOINS, **{**usual, **fields}) == 0
        return self

    async def heartbeat(self):
        return await self.beat(self.generation)

    async def leave(self):
        return await self.beat(LEAVES)

    async def _broker(self, frame):
        return self.gateway.broker(frame)
