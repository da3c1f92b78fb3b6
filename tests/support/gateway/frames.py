"""Frames for a gateway: random ones for every API of kafka-python, and valid ones of groups."""

from __future__ import annotations

import importlib
import pkgutil
import uuid
from functools import cache
from typing import NamedTuple

import kafka.protocol
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.groupprotocol.requests.share_group_heartbeat import SHARE_HEARTBEAT
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from support.heartbeats.heartbeat_values import (
    CONSUMER_ANSWER,
    CONSUMER_REQUEST,
    SHARE_ANSWER,
    SHARE_REQUEST,
    STREAMS_ANSWER,
    STREAMS_REQUEST,
)

__all__ = ["VERSIONS", "Api", "GroupFrames", "apis", "filled", "framed", "group_frames", "with_topic_id"]

SUBSCRIPTION = encode_subscription(ConsumerSubscription(3, ("t",), b"data", {"t": (1, 2)}, 4, "rack"))
ASSIGNMENT = encode_assignment(ConsumerAssignment(3, {"t": (0, 1)}, b"data"))
VERSIONS = {
    11: range(10),
    14: range(6),
    12: range(5),
    8: range(2, 10),
    13: range(3),
    1: range(4, 13),
    68: range(2),
    76: range(1, 2),
    88: range(2),
}
"""API key of a group's requests -> the versions in which `group_frames` creates them."""


class Api(NamedTuple):
    """kafka-python's classes of one API."""

    request: type[ApiMessage]
    response: type[ApiMessage]


class GroupFrames(NamedTuple):
    """A member's request and the coordinator's answer, which is empty if the gateway does not read it."""

    key: int
    version: int
    request: bytes
    answer: bytes


@cache
def apis():
    """API key -> kafka-python's classes."""
    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        importlib.import_module(module.name)
    found, left = {}, [ApiMessage]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if isinstance(getattr(kind, "API_KEY", None), int) and kind.__name__.endswith(("Request", "Response")):
            found.setdefault(kind.API_KEY, {})[kind.is_request()] = kind
    return {key: Api(kinds[True], kinds[False]) for key, kinds in sorted(found.items()) if len(kinds) == 2}


def filled(chance, kind, version):
    """A message of ``kind`` with random values from ``chance`` in all fields of ``version``."""
    return kind(version=version, **_filled(chance, kind.fields.values(), version))


def _filled(chance, fields, version):
    return {field.name: _value(chance, field, version) for field in fields if field.for_version_q(version)}


def _value(chance, field, version):
    if field.nullable_for_version_q(version) and chance.random() < 0.3:
        return None
    if field.is_struct() or field.is_struct_array():
        made = [
            field(version=version, **_filled(chance, field.fields.values(), version))
            for _ in range(chance.randrange(3) if field.is_struct_array() else 1)
        ]
        return made if field.is_struct_array() else made[0]
    if field.is_array():
        return [_plain(chance, field.type_str.removeprefix("[]")) for _ in range(chance.randrange(3))]
    return _plain(chance, field.type_str)


def _plain(chance, kind):
    if kind.startswith("int"):
        bits = int(kind[3:])
        return chance.choice([0, 1, chance.randrange(2 ** (bits - 1)), -chance.randrange(1, 2 ** (bits - 1))])
    if kind.startswith("uint"):
        return chance.randrange(2 ** int(kind[4:]))
    return {
        "bool": lambda: chance.random() < 0.5,
        "float64": chance.random,
        "string": lambda: chance.choice(["", "orders", "t", "m", "\u00e4" * chance.randrange(20)]),
        "bytes": lambda: chance.randbytes(chance.choice([0, 4, 100])),
        "records": lambda: chance.randbytes(chance.choice([0, 61, 2_000])),
        "uuid": lambda: uuid.UUID(bytes=chance.randbytes(16)),
        "bitfield": lambda: {chance.randrange(31)},
    }[kind]()


def framed(message, correlation_id=1, client_id="app"):
    """An encoded message without its length."""
    names = {"client_id": client_id} if message.is_request() else {}
    message.with_header(correlation_id=correlation_id, **names)
    return bytes(message.encode(header=True))


def group_frames(key, version):
    """Frames of a member ``m`` of the group ``orders`` that leads generation 5."""
    if key in _COORDINATED:
        api, asked, answered = _COORDINATED[key]
        return GroupFrames(
            key, version, api.encode_request(version, 1, "app", asked), api.encode_answer(version, 1, answered)
        )
    request = {11: _joins, 14: _syncs, 12: _beats, 13: _leaves, 8: _commits, 1: _fetches}[key](version)
    answer = {11: _joined, 14: _synced, 12: _beaten, 8: _committed}.get(key)
    return GroupFrames(key, version, framed(request), framed(answer(version)) if answer else b"")


def _joins(version):
    kind = JoinGroupRequest.JoinGroupRequestProtocol
    protocols = [kind(version=version, name=name, metadata=SUBSCRIPTION) for name in ("range", "roundrobin")]
    return JoinGroupRequest(
        version=version,
        group_id="orders",
        session_timeout_ms=1,
        member_id="m",
        protocol_type="consumer",
        protocols=protocols,
    )


def _joined(version):
    kind = JoinGroupResponse.JoinGroupResponseMember
    return JoinGroupResponse(
        version=version,
        error_code=0,
        generation_id=5,
        protocol_name="weighted-sticky",
        leader="m",
        member_id="m",
        members=[kind(version=version, member_id=name, metadata=SUBSCRIPTION) for name in ("m", "n")],
    )


def _syncs(version):
    kind = SyncGroupRequest.SyncGroupRequestAssignment
    names = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    return SyncGroupRequest(
        version=version,
        group_id="orders",
        generation_id=5,
        member_id="m",
        assignments=[kind(version=version, member_id="m", assignment=ASSIGNMENT)],
        **names,
    )


def _synced(version):
    return SyncGroupResponse(version=version, error_code=0, assignment=ASSIGNMENT)


def _beats(version):
    return HeartbeatRequest(version=version, group_id="orders", generation_id=5, member_id="m")


def with_topic_id(frame, name, topic_id):
    """A TxnOffsetCommit request or answer of version 5, kafka-python's newest, in the format of version 6 (KIP-1319).

    ``topic_id`` (16 bytes) replaces the topic's ``name``. The version in the header of a request is not changed.
    """
    compact = bytes([len(name) + 1]) + name.encode()
    assert frame.count(compact) == 1
    return frame.replace(compact, topic_id)


def _beaten(version):
    return HeartbeatResponse(version=version)


def _leaves(version):
    return LeaveGroupRequest(version=version, group_id="orders", member_id="m", members=[])


def _commits(version):
    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    return OffsetCommitRequest(
        version=version,
        group_id="orders",
        generation_id_or_member_epoch=5,
        member_id="m",
        topics=[kind(version=version, name="t", partitions=[])],
    )


def _committed(version):
    return OffsetCommitResponse(version=version, topics=[])


def _fetches(version):
    kind = FetchRequest.FetchTopic
    partitions = [kind.FetchPartition(version=version, partition=1)]
    topics = [kind(version=version, topic="t", partitions=partitions)]
    return FetchRequest(version=version, max_wait_ms=1, min_bytes=1, topics=topics)


_COORDINATED = {
    CONSUMER_HEARTBEAT.key: (CONSUMER_HEARTBEAT, CONSUMER_REQUEST, CONSUMER_ANSWER),
    SHARE_HEARTBEAT.key: (SHARE_HEARTBEAT, SHARE_REQUEST, SHARE_ANSWER),
    STREAMS_HEARTBEAT.key: (STREAMS_HEARTBEAT, STREAMS_REQUEST, STREAMS_ANSWER),
}
