"""Frames of groups with seats: any bytes are forwarded unchanged, or refused as without seats."""

from __future__ import annotations

import asyncio
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.request_head import RequestHead
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
