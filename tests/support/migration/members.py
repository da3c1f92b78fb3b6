"""Members of both protocols as frames on one connection: each call is one request, and nothing runs in between."""

from __future__ import annotations

import itertools
import select
import threading
import uuid
from dataclasses import dataclass, field

from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import (
    CONSUMER_HEARTBEAT,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    UNCHANGED,
)
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from support.gateway.frames import framed
from support.kafka.frame_connection import FrameConnection

TIMEOUT_S = 30
JOIN_S = 3
"""Seconds without an answer to any join after which all members join again."""
ATTEMPTS_MAX = 100
JOINS_MAX = 5
MEMBER_ID_REQUIRED = 79
CORRELATION = itertools.count(1)


class Broker:
    """One connection for requests that are answered at once; `stable` opens others for JoinGroup, which waits."""

    def __init__(self, address):
        self.address = address
        self._connection = FrameConnection(address, TIMEOUT_S)

    def ask(self, request, answer_class):
        frame = framed(request, next(CORRELATION))
        return self._loaded(
            lambda: decoded(answer_class, request, self._connection.exchange(frame)), lambda answer: answer.error_code
        )

    def beat(self, fields):
        frame = CONSUMER_HEARTBEAT.encode_request(1, next(CORRELATION), "app", fields)
        return self._loaded(
            lambda: CONSUMER_HEARTBEAT.decode_answer(1, self._connection.exchange(frame)),
            lambda answer: answer["error_code"],
        )

    def _loaded(self, exchange, error_of):
        """The first answer of a coordinator that has read its records."""
        pause = threading.Event()
        for _ in range(ATTEMPTS_MAX):
            answer = exchange()
            if error_of(answer) not in COORDINATOR_MOVED:
                break
            pause.wait(0.1)
        return answer

    def close(self):
        self._connection.close()


def decoded(answer_class, request, frame):
    return answer_class.decode(frame, version=request.version, header=True)


@dataclass
class ClassicMember:
    """A member of the classic protocol; ``protocols``: its assignors; ``raw``: its subscription as bytes."""

    group: str
    topics: tuple[str, ...]
    protocols: tuple[str, ...] = ("range",)
    instance_id: str | None = None
    protocol_type: str = "consumer"
    session_timeout_ms: int = 30_000
    rebalance_timeout_ms: int = 30_000
    user_data: bytes | None = None
    raw: bytes | None = None
    member_id: str = ""
    generation: int = -1
    owned: dict = field(default_factory=dict)

    def join_request(self):
        metadata = self.raw
        if metadata is None:
            metadata = encode_subscription(ConsumerSubscription(3, self.topics, self.user_data, self.owned, -1, None))
        kind = JoinGroupRequest.JoinGroupRequestProtocol
        return JoinGroupRequest(
            version=5,
            group_id=self.group,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocols=[kind(version=5, name=name, metadata=metadata) for name in self.protocols],
        )

    def sync_request(self, assignments):
        kind = SyncGroupRequest.SyncGroupRequestAssignment
        return SyncGroupRequest(
            version=3,
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[kind(version=3, member_id=name, assignment=data) for name, data in assignments.items()],
        )

    def beat(self, broker):
        request = HeartbeatRequest(
            version=3,
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return broker.ask(request, HeartbeatResponse).error_code

    def leave(self, broker):
        kind = LeaveGroupRequest.MemberIdentity
        request = LeaveGroupRequest(
            version=3,
            group_id=self.group,
            members=[kind(version=3, member_id=self.member_id, group_instance_id=self.instance_id)],
        )
        return broker.ask(request, LeaveGroupResponse).error_code


@dataclass
class EpochMember:
    """A member of the consumer protocol."""

    group: str
    topics: tuple[str, ...] | None
    instance_id: str | None = None
    regex: str | None = None
    assignor: str | None = None
    rebalance_timeout_ms: int = 30_000
    member_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    epoch: int = JOIN_EPOCH
    partitions: list = field(default_factory=list)

    def join(self, broker):
        """Join; return the error code and the error text of the answer."""
        return self._send(
            broker,
            instance_id=self.instance_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            subscribed_topic_names=None if self.topics is None else list(self.topics),
            subscribed_topic_regex=self.regex,
            server_assignor=self.assignor,
            topic_partitions=[],
        )

    def beat(self, broker):
        """Send a heartbeat that acknowledges the last assignment; return as `join`."""
        return self._send(broker, topic_partitions=self.partitions)

    def leave(self, broker, *, for_good=True):
        self.epoch = LEAVE_EPOCH if for_good else STATIC_LEAVE_EPOCH
        return self._send(broker, instance_id=self.instance_id)

    def _send(self, broker, **fields):
        known = {"group_id": self.group, "member_id": self.member_id, "member_epoch": self.epoch}
        answer = broker.beat({**UNCHANGED, **known, **fields})
        if answer["error_code"] == 0:
            self.epoch = answer["member_epoch"]
            if answer["assignment"] is not None:
                self.partitions = answer["assignment"]["topic_partitions"]
        return answer["error_code"], answer["error_message"]


def stable(broker, members, assigned=None, assignment_data=None):
    """Bring classic ``members`` into one generation.

    ``assigned``: index of a member -> its partitions; ``assignment_data``: index -> user data of its assignment, or
    the bytes of the whole assignment in a tuple.
    """
    waiting, attempts = {}, 0
    while waiting or len({member.generation for member in members}) > 1 or members[0].generation < 0:
        for index, member in enumerate(members):
            # A JoinGroup is answered when all members have joined.
            if index not in waiting:
                request = member.join_request()
                connection = FrameConnection(broker.address, TIMEOUT_S)
                connection.send(framed(request, next(CORRELATION)))
                waiting[index] = connection, request
        ready, _, _ = select.select([connection for connection, _ in waiting.values()], [], [], JOIN_S)
        if not ready:
            for connection, _ in waiting.values():
                connection.close()
            waiting.clear()
            attempts += 1
            assert attempts < JOINS_MAX, "no JoinGroup was answered"
        for index in [index for index, (connection, _) in waiting.items() if connection in ready]:
            connection, request = waiting.pop(index)
            answer = decoded(JoinGroupResponse, request, connection.receive())
            connection.close()
            assert answer.error_code in {0, MEMBER_ID_REQUIRED, *COORDINATOR_MOVED}, answer
            if answer.error_code in COORDINATOR_MOVED:
                members[index].beat(broker)  # waits until the coordinator has read its records
                continue
            members[index].member_id, members[index].generation = answer.member_id, answer.generation_id
            leader = answer.leader
    return _synced(broker, leader, members, assigned or {}, assignment_data or {})


def _synced(broker, leader_id, members, assigned, assignment_data):
    leader = next(member for member in members if member.member_id == leader_id)
    given = {}
    for index, member in enumerate(members):
        data = assignment_data.get(index)
        whole = encode_assignment(
            ConsumerAssignment(1, assigned.get(index, {}), data if isinstance(data, bytes) else None)
        )
        given[member.member_id] = data[0] if isinstance(data, tuple) else whole
    for member in [leader, *(each for each in members if each is not leader)]:
        answer = broker.ask(member.sync_request(given if member is leader else {}), SyncGroupResponse)
        assert answer.error_code == 0, answer
