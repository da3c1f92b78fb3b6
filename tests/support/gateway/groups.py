"""Clients of a gateway's group code without a transport: frames in and out, and a broker that answers."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import struct
from dataclasses import dataclass, field

from kafka.protocol.admin.groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer import TxnOffsetCommitRequest, TxnOffsetCommitResponse

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.groups import GroupInterceptors, parse_rules
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, encode_assignment, encode_subscription
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

RESPONSES = {
    JoinGroupRequest: JoinGroupResponse,
    SyncGroupRequest: SyncGroupResponse,
    HeartbeatRequest: HeartbeatResponse,
    LeaveGroupRequest: LeaveGroupResponse,
    OffsetCommitRequest: OffsetCommitResponse,
    TxnOffsetCommitRequest: TxnOffsetCommitResponse,
    FetchRequest: FetchResponse,
    MetadataRequest: MetadataResponse,
    DescribeGroupsRequest: DescribeGroupsResponse,
}
REQUESTS = {kind.API_KEY: kind for kind in RESPONSES}


class Gateway:
    """The group code of one gateway; its events and outcomes are kept."""

    def __init__(self, rules="", **options):
        self.clock = FakeClock()
        self.events, self.outcomes, self.on_event = [], [], lambda: None
        self.groups = GroupInterceptors(
            parse_rules(rules), self._keep, self.clock, count=self.outcomes.append, **options
        )

    def _keep(self, event):
        self.events.append(event)
        self.on_event()

    def reported(self, callback):
        return [event for event in self.events if getattr(event, "callback", None) == callback]


class Line:
    """One connection of a client through a gateway to ``broker``."""

    def __init__(self, gateway, broker, client_id="app"):
        self.talk, self.broker, self.client_id = gateway.groups.for_connection(), broker, client_id
        self.sent, self.answered = [], []
        self._numbers = itertools.count(1)

    async def send(self, message):
        """Return the answer that the client gets; keep the request that the broker gets, and its answer."""
        frame = self.framed(message)
        head = read_head(frame)
        if self.talk.wants(head):
            frame = await self.talk.request(head, frame, self.ask)
        asked = open_frame(type(message), head, frame).message
        self.sent.append(asked)
        answer = await self.answer(asked)
        answer.with_header(correlation_id=head.correlation_id)
        self.answered.append(answer)
        return open_frame(
            RESPONSES[type(message)], head, self.talk.response(head, bytes(answer.encode(header=True)))
        ).message

    async def exchange(self, frame, answer):
        """Return the request as the broker gets it, and the answer as the client gets it."""
        head = read_head(frame)
        sent = await self.talk.request(head, frame, self.ask) if self.talk.wants(head) else frame
        return sent, self.talk.response(head, answer)

    def framed(self, message):
        message.with_header(correlation_id=next(self._numbers), client_id=self.client_id)
        return bytes(message.encode(header=True))

    async def ask(self, message):
        return await self.answer(message)

    async def answer(self, message):
        answer = self.broker(message)
        return await answer if inspect.isawaitable(answer) else answer


class RealBroker:
    """Answers with a connection to a real broker."""

    def __init__(self, reader, writer, client_id):
        self._reader, self._writer, self._client_id = reader, writer, client_id

    @classmethod
    async def at(cls, address, client_id="gateway"):
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)), client_id)

    async def send(self, message):
        """As in `Line`, for a `Client` without a gateway."""
        return await self(message)

    async def __call__(self, message):
        message.with_header(correlation_id=0, client_id=self._client_id)
        frame = bytes(message.encode(header=True))
        self._writer.write(struct.pack(">i", len(frame)) + frame)
        await self._writer.drain()
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        answer = await self._reader.readexactly(size)
        return open_frame(RESPONSES[type(message)[None]], read_head(frame), answer).message

    async def close(self):
        self._writer.close()
        await self._writer.wait_closed()


@dataclass
class Client:
    """A consumer that sends the group protocol's requests. ``names``: its assignors; it keeps the last answers."""

    line: Line
    group: str = "orders"
    topics: tuple[str, ...] = ("t",)
    names: tuple[str, ...] = ("range",)
    join_version: int = 9
    sync_version: int = 5
    instance_id: str | None = None
    rack: str | None = None
    subscription_version: int = 3
    protocol_type: str = "consumer"
    member_id: str = ""
    generation: int = -1
    owned: dict = field(default_factory=dict)
    joined: object = None

    async def join(self, **fields):
        """Send JoinGroup, and again if the answer only contains a member id."""
        request = self.join_request(**fields)
        self.joined = await self.line.send(request)
        if self.joined.error_code == 79:
            self.member_id = self.joined.member_id
            self.joined = await self.line.send(self.join_request(**fields))
        if not self.joined.error_code:
            self.member_id, self.generation = self.joined.member_id, self.joined.generation_id
        return self.joined

    def join_request(self, **fields):
        version = self.join_version
        subscription = ConsumerSubscription(
            self.subscription_version,
            self.topics,
            owned_partitions=self.owned if self.names == ("cooperative-sticky",) else {},
            generation_id=self.generation,
            rack_id=self.rack,
        )
        kind = JoinGroupRequest.JoinGroupRequestProtocol
        data = encode_subscription(subscription)
        values = {
            "group_id": self.group,
            "session_timeout_ms": 10_000,
            "member_id": self.member_id,
            "protocol_type": self.protocol_type,
            "protocols": [kind(version=version, name=name, metadata=data) for name in self.names],
        }
        if version >= 1:
            values["rebalance_timeout_ms"] = 60_000
        if version >= 5:
            values["group_instance_id"] = self.instance_id
        return JoinGroupRequest(version=version, **{**values, **fields})

    async def sync(self, assignments=None, **fields):
        """Send SyncGroup; by default a leader assigns everything to itself, unlike our assignors."""
        if assignments is None:
            assignments = {}
            if self.joined.leader == self.member_id and not self.joined.skip_assignment:
                assignments = {each.member_id: {} for each in self.joined.members}
                assignments[self.member_id] = {"t": tuple(range(16))}
        version = self.sync_version
        kind = SyncGroupRequest.SyncGroupRequestAssignment
        values = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "assignments": [
                kind(version=version, member_id=name, assignment=encode_assignment(ConsumerAssignment(1, given)))
                for name, given in assignments.items()
            ],
        }
        if version >= 3:
            values["group_instance_id"] = self.instance_id
        if version >= 5:
            values |= {"protocol_type": self.joined.protocol_type, "protocol_name": self.joined.protocol_name}
        answer = await self.line.send(SyncGroupRequest(version=version, **{**values, **fields}))
        if not answer.error_code and answer.assignment:
            self.owned = dict(decode_assignment(bytes(answer.assignment)).partitions)
        return answer

    async def heartbeat(self, version=4):
        fields = {"group_instance_id": self.instance_id} if version >= 3 else {}
        return await self.line.send(
            HeartbeatRequest(
                version=version,
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                **fields,
            )
        )
