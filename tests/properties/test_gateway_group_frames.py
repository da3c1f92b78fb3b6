"""Whatever bytes come to the group side of a gateway, nothing but a `DecodeError` comes out of it."""

from __future__ import annotations

import asyncio
import struct

from hypothesis import given
from hypothesis import strategies as st
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

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.shared import Outcome
from rebalance_agent.gateway.head import RequestHead
from rebalance_agent.gateway.messages import open_request, open_response
from rebalance_agent.groupprotocol import heartbeat
from rebalance_agent.groupprotocol.consumer import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.primitives import ZERO_UUID
from rebalance_agent.groupprotocol.schema import struct_codec
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from support.gateway_coordinator import ToyCoordinator
from support.gateway_groups import Client, Gateway, Line
from support.messages import mutated

RULES = "orders=weighted-sticky,assignment.consumer.weight=3"
SUBSCRIPTION = encode_subscription(ConsumerSubscription(3, ("t",), b"data", {"t": (1, 2)}, 4, "rack"))
ASSIGNMENT = encode_assignment(ConsumerAssignment(3, {"t": (0, 1)}, b"data"))
HEARTBEAT = {
    "group_id": "orders",
    "member_id": "m",
    "member_epoch": 3,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout_ms": 1,
    "subscribed_topic_names": ["t"],
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": [{"topic_id": ZERO_UUID, "partitions": (1, 2)}],
}
HEARTBEAT_ANSWER = {
    "throttle_time_ms": 0,
    "error_code": 0,
    "error_message": None,
    "member_id": "m",
    "member_epoch": 4,
    "heartbeat_interval_ms": 1,
    "assignment": {"topic_partitions": [{"topic_id": ZERO_UUID, "partitions": (1,)}]},
}


def framed(message):
    message.with_header(correlation_id=1, client_id="app")
    return bytes(message.encode(header=True))


def joins(version):
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


def joined(version):
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


def syncs(version):
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


def synced(version):
    return SyncGroupResponse(version=version, error_code=0, assignment=ASSIGNMENT)


def others(key, version):
    if key == 12:
        return HeartbeatRequest(version=version, group_id="orders", generation_id=5, member_id="m")
    if key == 13:
        return LeaveGroupRequest(version=version, group_id="orders", member_id="m", members=[])
    if key == 8:
        kind = OffsetCommitRequest.OffsetCommitRequestTopic
        return OffsetCommitRequest(
            version=version,
            group_id="orders",
            generation_id_or_member_epoch=5,
            member_id="m",
            topics=[kind(version=version, name="t", partitions=[])],
        )
    kind = FetchRequest.FetchTopic
    partitions = [kind.FetchPartition(version=version, partition=1)]
    topics = [kind(version=version, topic="t", partitions=partitions)]
    return FetchRequest(version=version, max_wait_ms=1, min_bytes=1, topics=topics)


def committed(version):
    return OffsetCommitResponse(version=version, topics=[])


def coordinated(version):
    out = bytearray(struct.pack(">hhih3sB", 68, version, 1, 3, b"app", 0))
    struct_codec(heartbeat._REQUEST, version, flexible=True).write(out, HEARTBEAT)
    return bytes(out)


def coordinated_answer(version):
    out = bytearray(struct.pack(">iB", 1, 0))
    struct_codec(heartbeat._ANSWER, version, flexible=True).write(out, HEARTBEAT_ANSWER)
    return bytes(out)


FRAMES = st.one_of(
    st.integers(0, 9).map(lambda version: (11, version, framed(joins(version)), framed(joined(version)))),
    st.integers(0, 5).map(lambda version: (14, version, framed(syncs(version)), framed(synced(version)))),
    st.integers(0, 4).map(
        lambda version: (12, version, framed(others(12, version)), framed(HeartbeatResponse(version=version)))
    ),
    st.integers(2, 9).map(lambda version: (8, version, framed(others(8, version)), framed(committed(version)))),
    st.integers(0, 2).map(lambda version: (13, version, framed(others(13, version)), b"")),
    st.integers(4, 12).map(lambda version: (1, version, framed(others(1, version)), b"")),
    st.integers(0, 1).map(lambda version: (68, version, coordinated(version), coordinated_answer(version))),
)
DAMAGED = FRAMES.flatmap(lambda frame: st.tuples(st.just(frame), mutated(frame[2]), mutated(frame[3])))


async def nobody(_message):
    raise ConnectionError("there is nobody to ask")


def talk_of_a_leader():
    """A talk on which the member has joined and leads generation 5."""
    gateway = Gateway(RULES)
    talk = gateway.groups.talk()
    head = RequestHead(11, 9, 99)
    asyncio.run(talk.request(head, framed(joins(9)), nobody))
    talk.response(head, framed(joined(9)))
    return gateway, talk


@given(DAMAGED)
def test_damaged_requests_pass_or_are_refused(damaged):
    (key, version, _, _), request, _ = damaged
    gateway, talk = talk_of_a_leader()
    try:
        passed = asyncio.run(talk.request(RequestHead(key, version, 1), request, nobody))
    except DecodeError:
        assert key in (11, 14)
    else:
        assert passed == request or key in (11, 14)
    assert Outcome.FAILED not in gateway.outcomes


@given(DAMAGED)
def test_damaged_answers_pass_or_are_refused(damaged):
    (key, version, request, _), _, answer = damaged
    gateway, talk = talk_of_a_leader()
    head = RequestHead(key, version, 1)
    asyncio.run(talk.request(head, request, nobody))
    try:
        passed = talk.response(head, answer)
    except DecodeError:
        assert key in (11, 14)
    else:
        assert passed == answer or key in (11, 14)
    assert Outcome.FAILED not in gateway.outcomes


@given(st.sampled_from([1, 8, 11, 12, 13, 14, 68]), st.integers(0, 9), st.binary(max_size=80))
def test_noise_passes_or_is_refused(key, version, noise):
    gateway, talk = talk_of_a_leader()
    head = RequestHead(key, version, 1)
    if talk.wants(head):
        try:
            passed = asyncio.run(talk.request(head, noise, nobody))
        except DecodeError:
            assert key in (11, 14)
        else:
            assert passed == noise or key in (11, 14)
    assert Outcome.FAILED not in gateway.outcomes


@given(FRAMES)
def test_what_is_sent_instead_is_of_the_same_version_and_header(frame):
    key, version, request, answer = frame
    _, talk = talk_of_a_leader()
    head = RequestHead(key, version, 1)
    sent = asyncio.run(talk.request(head, request, nobody))
    got = talk.response(head, answer)
    if key in (11, 14):
        kinds = {11: (JoinGroupRequest, JoinGroupResponse), 14: (SyncGroupRequest, SyncGroupResponse)}[key]
        before, after = open_request(kinds[0], head, request), open_request(kinds[0], head, sent)
        assert (after.header, after.version) == (before.header, before.version)
        before, after = open_response(kinds[1], head, answer), open_response(kinds[1], head, got)
        assert (after.header, after.version) == (before.header, before.version)
    else:
        assert (sent, got) == (request, answer)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 20), st.randoms())
def test_weights_are_kept_whoever_joins_first(weights, partitions, shuffled):
    broker = ToyCoordinator(len(weights), topics={"t": partitions})
    rules = "orders=weighted-sticky,assignment.consumer.weight="
    clients = [Client(Line(Gateway(f"{rules}{weight}"), broker)) for weight in weights]
    order = list(clients)
    shuffled.shuffle(order)

    async def rebalance():
        await asyncio.gather(*(each.join() for each in order))
        await asyncio.gather(*(each.sync() for each in order))

    asyncio.run(rebalance())
    owned = [number for each in clients for number in each.owned.get("t", ())]
    assert sorted(owned) == list(range(partitions))
    for each, weight in zip(clients, weights, strict=True):
        assert abs(len(each.owned.get("t", ())) - partitions * weight / sum(weights)) < 1
