"""Frames of groups with seats: any bytes are forwarded unchanged, or refused as without seats."""

from __future__ import annotations

import asyncio
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.request_head import RequestHead, read_head
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from support.epoch_seats.epoch_clients import EpochClient, EpochGateway
from support.epoch_seats.epoch_frames import TOPIC_ID
from support.gateway.frames import VERSIONS, group_frames
from support.gateway.seat_clients import SeatClient, SeatGateway
from support.kafka.messages import mutated

AT_ONCE = "orders=on,seats.hold.seconds=0"
"""A rule without holds, because no time passes here."""

FRAMES = st.one_of(*(st.sampled_from(versions).map(partial(group_frames, key)) for key, versions in VERSIONS.items()))
DAMAGED = FRAMES.flatmap(lambda frame: st.tuples(st.just(frame), mutated(frame[2]), mutated(frame[3])))


async def nobody(_message):
    raise ConnectionError("there is nobody to ask")


def without_failures(gateway):
    assert {act: number for act, number in gateway.acts.counted.items() if act[1] == "failed"} == {}


@given(DAMAGED)
def test_damaged_frames_of_a_group_with_seats_are_forwarded_or_refused(damaged):
    (key, version, _, _), request, answer = damaged

    async def pass_both():
        gateway = SeatGateway(AT_ONCE)
        client, head = SeatClient(gateway), RequestHead(key, version, 1)
        if client.talk.wants(head):
            try:
                assert await client.talk.request(head, request, nobody) == request
                assert client.talk.response(head, answer) == answer
            except DecodeError:
                assert key in (11, 14)
        without_failures(gateway)

    asyncio.run(pass_both())


@given(st.binary(max_size=60))
def test_a_join_with_an_unreadable_response_is_sent_unchanged(noise):
    async def join():
        gateway = SeatGateway()
        client = SeatClient(gateway)

        async def exchange(frame):
            return frame[4:8] + noise

        client.exchange = exchange
        joined = await client.join()
        assert (joined.error_code, [frame == passed for frame, passed in client.sent]) == (0, [True, True])
        without_failures(gateway)

    asyncio.run(join())


FIELDS = {
    "group_id": "orders",
    "member_id": "m",
    "instance_id": None,
    "rack_id": "a",
    "rebalance_timeout_ms": 60_000,
    "subscribed_topic_names": ["t"],
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": [],
}
ANSWER = {
    "throttle_time_ms": 0,
    "error_code": 0,
    "error_message": None,
    "member_id": "m",
    "member_epoch": 3,
    "heartbeat_interval_ms": 5_000,
    "assignment": {"topic_partitions": [{"topic_id": TOPIC_ID, "partitions": [0, 1]}]},
}


DAMAGED_BEATS = st.sampled_from([(version, epoch) for version in (0, 1) for epoch in (0, 3, -1)]).flatmap(
    lambda of: st.tuples(
        st.just(of[0]),
        mutated(CONSUMER_HEARTBEAT.encode_request(of[0], 1, "app", {**FIELDS, "member_epoch": of[1]})),
        mutated(CONSUMER_HEARTBEAT.encode_answer(of[0], 1, ANSWER)),
    )
)


@given(DAMAGED_BEATS)
def test_damaged_heartbeats_of_kip_848_are_forwarded(damaged):
    version, request, answer = damaged

    async def pass_both():
        gateway = SeatGateway("orders=observe")
        client, head = SeatClient(gateway), RequestHead(CONSUMER_HEARTBEAT.key, version, 1)
        if client.talk.wants(head):
            assert await client.talk.request(head, request, nobody) == request
            assert client.talk.response(head, answer) == answer
        without_failures(gateway)

    asyncio.run(pass_both())


@given(st.binary(max_size=60), st.sampled_from(["join", "leave"]))
def test_a_changed_heartbeat_with_an_unreadable_response_is_sent_unchanged(noise, what):
    async def send():
        gateway = EpochGateway("orders=on,seats.keep.seconds=30")
        client = EpochClient(gateway)
        if what == "leave":
            await client.enter()
            await gateway.advance(5)
            assert await client.heartbeat() == 0

        def garbled(frame):
            answer = broker(frame)
            changed = (
                read_head(frame).api_key == CONSUMER_HEARTBEAT.key
                and CONSUMER_HEARTBEAT.decode_request(1, frame)["instance_id"]
            )
            return frame[4:8] + noise if changed else answer

        broker, gateway.broker = gateway.broker, garbled
        if what == "join":
            await client.enter()
        else:
            assert await client.leave() == 0
        assert client.sent[-1][0] == client.sent[-1][1]
        without_failures(gateway)

    asyncio.run(send())
