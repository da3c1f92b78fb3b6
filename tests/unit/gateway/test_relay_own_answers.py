"""Requests that the gateway answers itself or replaces, and requests of its own after the client's end."""

from __future__ import annotations

import asyncio
import struct
from contextlib import asynccontextmanager

from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

from rebalance_agent.gateway.seating.connections.client_connection import OwnAnswer
from support.gateway.transport import (
    HEARTBEAT,
    Client,
    RawBroker,
    ReadsHeartbeats,
    answer_of,
    eventually,
    frame_of,
    open_connections,
    refused,
    request,
    reset,
    run,
    through,
)

LIST_OFFSETS, FIND_COORDINATOR = 2, 10


@asynccontextmanager
async def joined(groups, answer=None):
    broker = await RawBroker(answer).start()
    made = groups()
    async with through(broker.port, groups=lambda: made) as gateway:
        client = await Client.connect(gateway.port)
        try:
            yield client, broker, gateway, made
        finally:
            await client.close()
            await broker.stop()


class Reading(ReadsHeartbeats):
    """``line``: the connection."""

    def connected(self, line):
        self.line = line


class Answering(Reading):
    """Responds to every heartbeat itself."""

    async def request(self, head, frame, ask):
        return OwnAnswer(frame[4:8] + b"own")


@run
async def test_our_own_response_follows_those_to_earlier_requests_and_the_request_is_not_sent():
    frames = [
        request(api, 5, number) for number, api in enumerate([LIST_OFFSETS, LIST_OFFSETS, HEARTBEAT, LIST_OFFSETS])
    ]
    async with joined(Answering) as (client, broker, gateway, _):
        broker.reading.clear()
        await client.send(*frames)
        await asyncio.sleep(0)
        broker.reading.set()
        answers = [await client.receive() for _ in frames]
        assert [each[:4] for each in answers] == [frame[4:8] for frame in frames]
        assert answers[2] == frames[2][4:8] + b"own"
        assert broker.came == b"".join(map(frame_of, (frames[0], frames[1], frames[3])))
        assert not refused(gateway)


class Exchanging(Reading):
    """Changes each heartbeat, and extends its response."""

    async def request(self, head, frame, ask):
        return OwnAnswer(await self.line.exchange(frame + b"changed") + b"shown")


@run
async def test_a_replaced_request_has_our_correlation_id_at_the_broker_and_the_clients_own_at_the_client():
    async with joined(Exchanging) as (client, broker, _, _made):
        frame = request(HEARTBEAT, 4, 77)
        await client.send(frame)
        answer = await client.receive()
        (sent,) = [bytes(broker.came)[4:]]
        (own_id,) = struct.unpack(">i", sent[4:8])
        assert own_id < 0
        assert (sent[:4] + sent[8:], sent.endswith(b"changed")) == (frame[:4] + frame[8:] + b"changed", True)
        assert answer == frame[4:8] + b"answer to " + sent + b"shown"


class Lingering(Reading):
    """Sends a request after the client's end, and then closes the broker's side."""

    def __init__(self):
        self.asked, self.closings = asyncio.Event(), 0

    async def client_ended(self):
        message = FindCoordinatorRequest(version=3, key="g", key_type=0)
        self.answer = await self.line.ask(message)
        self.hung_up = self.line.hung_up()
        self.asked.set()

    def closed(self):
        self.closings += 1


def coordinator(frame):
    if frame[:2] != struct.pack(">h", FIND_COORDINATOR):
        return frame[4:8] + b"answer to " + frame
    fields = {"throttle_time_ms": 0, "error_code": 0, "error_message": None, "node_id": 1, "host": "real", "port": 9}
    return answer_of(FindCoordinatorResponse(version=3, **fields), frame)


@run
async def test_the_brokers_side_stays_open_after_the_clients_end_while_needed():
    async with joined(Lingering, coordinator) as (client, broker, gateway, groups):
        await client.send(request(LIST_OFFSETS, 5, 1))
        await client.receive()
        await client.close()
        await groups.asked.wait()
        assert (groups.answer.host, groups.hung_up) == ("real", True)
        await eventually(lambda: open_connections(gateway) == 0)
        assert (groups.closings, broker.connections) == (1, 1)
        assert not refused(gateway)


@run
async def test_the_broker_can_still_be_queried_after_a_client_was_killed():
    async with joined(Lingering, coordinator) as (client, _, gateway, groups):
        await client.send(request(LIST_OFFSETS, 5, 1))
        await client.receive()
        reset(client.writer)
        await groups.asked.wait()
        assert groups.answer.host == "real"
        await eventually(lambda: open_connections(gateway) == 0)


class Waiting(Reading):
    """Waits until all earlier requests of the connection are answered."""

    async def request(self, head, frame, ask):
        await self.line.answered()
        return frame


@run
async def test_a_request_can_wait_for_responses_to_all_earlier_ones():
    async with joined(Waiting) as (client, broker, _, _made):
        frames = [request(LIST_OFFSETS, 5, 1), request(HEARTBEAT, 4, 2)]
        broker.answer = lambda _frame: None
        await client.send(*frames)
        await eventually(lambda: broker.came == frame_of(frames[0]))
        broker.writers[0].write(frame_of(frames[0][4:8] + b"late"))
        await eventually(lambda: broker.came == b"".join(map(frame_of, frames)))
        assert await client.receive() == frames[0][4:8] + b"late"
