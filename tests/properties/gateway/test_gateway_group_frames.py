"""The gateway's group code raises only `DecodeError`, for any bytes."""

from __future__ import annotations

import asyncio
from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.group import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from support.gateway.coordinator import ToyCoordinator
from support.gateway.frames import VERSIONS, group_frames
from support.gateway.groups import Client, Gateway, Line
from support.kafka.messages import mutated

RULES = "orders=weighted-sticky,assignment.consumer.weight=3"
FRAMES = st.one_of(
    *(st.sampled_from(versions).map(partial(group_frames, key)) for key, versions in VERSIONS.items()),
)
DAMAGED = FRAMES.flatmap(lambda frame: st.tuples(st.just(frame), mutated(frame[2]), mutated(frame[3])))


async def nobody(_message):
    raise ConnectionError("there is nobody to ask")


def talk_of_a_leader():
    """An interceptor on which the member has joined and leads generation 5."""
    gateway = Gateway(RULES)
    talk = gateway.groups.for_connection()
    head = RequestHead(11, 9, 99)
    asyncio.run(talk.request(head, group_frames(11, 9).request, nobody))
    talk.response(head, group_frames(11, 9).answer)
    return gateway, talk


@given(DAMAGED)
def test_damaged_requests_are_forwarded_or_refused(damaged):
    (key, version, _, _), request, _ = damaged
    gateway, talk = talk_of_a_leader()
    try:
        passed = asyncio.run(talk.request(RequestHead(key, version, 1), request, nobody))
    except DecodeError:
        assert key in (11, 14)
    else:
        assert passed == request or key in (11, 14)
    assert FrameOutcome.FAILED not in gateway.outcomes


@given(DAMAGED)
def test_damaged_responses_are_forwarded_or_refused(damaged):
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
    assert FrameOutcome.FAILED not in gateway.outcomes


@given(st.sampled_from([1, 8, 11, 12, 13, 14, 68]), st.integers(0, 9), st.binary(max_size=80))
def test_noise_is_forwarded_or_refused(key, version, noise):
    gateway, talk = talk_of_a_leader()
    head = RequestHead(key, version, 1)
    if talk.wants(head):
        try:
            passed = asyncio.run(talk.request(head, noise, nobody))
        except DecodeError:
            assert key in (11, 14)
        else:
            assert passed == noise or key in (11, 14)
    assert FrameOutcome.FAILED not in gateway.outcomes


@given(FRAMES)
def test_a_replacement_frame_has_the_same_version_and_header(frame):
    key, version, request, answer = frame
    _, talk = talk_of_a_leader()
    head = RequestHead(key, version, 1)
    sent = asyncio.run(talk.request(head, request, nobody))
    got = talk.response(head, answer)
    if key in (11, 14):
        kinds = {11: (JoinGroupRequest, JoinGroupResponse), 14: (SyncGroupRequest, SyncGroupResponse)}[key]
        before, after = open_frame(kinds[0], head, request), open_frame(kinds[0], head, sent)
        assert (after.header, after.version) == (before.header, before.version)
        before, after = open_frame(kinds[1], head, answer), open_frame(kinds[1], head, got)
        assert (after.header, after.version) == (before.header, before.version)
    else:
        assert (sent, got) == (request, answer)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 20), st.randoms())
def test_weights_are_kept_in_any_order_of_joins(weights, partitions, shuffled):
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
