"""One connection through the gateway: the same bytes in the same order, and errors end only this connection."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import random
import socket
import struct
from contextlib import asynccontextmanager

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse
from kafka.protocol.producer import ProduceRequest

from fuzz.mutations import mutated
from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway import connection_relay as relay
from rebalance_agent.gateway import requests_in_flight
from rebalance_agent.gateway.transport import frame_forwarder as lane
from rebalance_agent.gateway.transport import tcp_connections
from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.gateway.transport.splice import Pipes
from support.gateway.transport import (
    HEARTBEAT,
    PATIENCE_S,
    Client,
    End,
    NoGroups,
    RawBroker,
    ReadsHeartbeats,
    Reset,
    eventually,
    frame_of,
    open_connections,
    refused,
    request,
    reset,
    run,
    through,
)
from support.observer.scrapes import families

LIST_OFFSETS, FETCH, SASL_HANDSHAKE = 2, 1, 17
LARGE = 5_000_000


@asynccontextmanager
async def joined(answer=None, **options):
    broker = await RawBroker(answer).start()
    async with through(broker.port, **options) as gateway:
        client = await Client.connect(gateway.port)
        try:
            yield client, broker, gateway
        finally:
            await client.close()
            await broker.stop()


@run
async def test_frames_of_all_sizes_are_forwarded_unchanged_in_both_directions():
    bodies = [b"", b"x", bytes(70_000), bytes(range(256)) * (LARGE // 256), b"y" * 10]
    frames = [request(LIST_OFFSETS, 5, number, body) for number, body in enumerate(bodies)]
    async with joined() as (client, broker, _):
        sending = asyncio.create_task(client.send(*frames))
        for frame in frames:
            assert await client.receive() == frame[4:8] + b"answer to " + frame
        await sending
        assert broker.came == b"".join(map(frame_of, frames))


@run
async def test_a_thousand_small_requests_in_one_write_are_answered_in_their_order():
    frames = [request(HEARTBEAT, 4, number) for number in range(3_000)]
    async with joined() as (client, broker, _):
        sending = asyncio.create_task(client.send(*frames))
        assert [(await client.receive())[:4] for _ in frames] == [frame[4:8] for frame in frames]
        await sending
        assert broker.came == b"".join(map(frame_of, frames))


@run
async def test_frames_that_arrive_byte_by_byte_are_forwarded():
    frame = frame_of(request(HEARTBEAT, 4, 7, b"body"))
    async with joined() as (client, broker, _):
        for byte in frame:
            client.writer.write(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        await client.receive()
        assert broker.came == frame


def passes(gateway):
    """Direction -> number of frames forwarded unread, and the sum of seconds."""
    samples = families(gateway.counts.text())["rebalance_agent_gateway_pass_seconds"].samples
    ends = {name: {} for name in ("_count", "_sum")}
    for sample in samples:
        for end, found in ends.items():
            if sample.name.endswith(end):
                found[sample.labels["direction"]] = sample.value
    return {name: (ends["_count"][name], ends["_sum"][name]) for name in ends["_count"]}


def sent_up(gateway):
    samples = families(gateway.counts.text())["rebalance_agent_gateway_bytes_total"].samples
    return next(sample.value for sample in samples if sample.labels["direction"] == "requests")


@pytest.mark.parametrize("size", [10, LARGE])
@run
async def test_the_delay_of_forwarded_frames_is_measured_in_both_directions(size):
    async with joined() as (client, _, gateway):
        for number in range(3):
            await client.send(request(LIST_OFFSETS, 5, number, bytes(size)))
            await client.receive()
        await eventually(lambda: {count for count, _ in passes(gateway).values()} == {3})
        assert all(0 < seconds < PATIENCE_S for _, seconds in passes(gateway).values())


@run
async def test_the_delay_excludes_the_time_of_a_slow_sender():
    clock = FakeClock()
    frame = frame_of(request(LIST_OFFSETS, 5, 1, bytes(LARGE)))
    async with joined(clock=clock) as (client, _, gateway):
        client.writer.write(frame[: LARGE // 2])
        await eventually(lambda: sent_up(gateway))
        clock.advance(5_000)
        client.writer.write(frame[LARGE // 2 :])
        await client.receive()
        await eventually(lambda: passes(gateway)["requests"][0])
        assert passes(gateway)["requests"] == (1, 0)


def produce(version, acks, correlation_id, client_id="app", transactional_id=None):
    message = ProduceRequest(version=version, acks=acks, timeout_ms=1, topic_data=[], transactional_id=transactional_id)
    message.with_header(correlation_id=correlation_id, client_id=client_id)
    return bytes(message.encode(header=True))


@pytest.mark.parametrize("version", range(3, ProduceRequest.max_version + 1))
@pytest.mark.parametrize("long", ["", "x" * 32_000])
@run
async def test_produce_without_acks_has_no_response_and_the_next_request_gets_its_own(version, long):
    frames = [
        produce(version, 0, 1, long, long or None),
        produce(version, 0, 2, long),
        request(HEARTBEAT, 4, 3),
    ]
    async with joined(lambda frame: None if frame[:2] == b"\0\0" else frame[4:8]) as (client, broker, _):
        await client.send(*frames)
        assert await client.receive() == frames[2][4:8]
        assert broker.came == b"".join(map(frame_of, frames))


class Asking(NoGroups):
    """Sends its own request before every heartbeat, and changes requests and responses."""

    def wants(self, head):
        return head.api_key == HEARTBEAT

    wants_answer = wants

    async def request(self, head, frame, ask):
        self.answer = await ask(FindCoordinatorRequest(version=3, key="g", key_type=0))
        return frame + b"changed"

    def response(self, head, frame):
        return frame + self.answer.host.encode()


def coordinator(frame):
    if frame[:2] != struct.pack(">h", 10):
        return frame[4:8] + b"answer to " + frame
    message = FindCoordinatorResponse(
        version=3, throttle_time_ms=0, error_code=0, error_message=None, node_id=1, host="real", port=9
    )
    message.with_header(correlation_id=struct.unpack_from(">i", frame, 4)[0])
    return bytes(message.encode(header=True))


@run
async def test_our_own_request_is_sent_between_the_clients_and_its_response_is_not_forwarded():
    frames = [request(LIST_OFFSETS, 5, 1), request(HEARTBEAT, 4, 2), request(LIST_OFFSETS, 5, 3)]
    async with joined(coordinator, groups=Asking) as (client, broker, _):
        await client.send(*frames)
        answers = [await client.receive() for _ in frames]
        assert answers[0] == frames[0][4:8] + b"answer to " + frames[0]
        assert answers[1] == frames[1][4:8] + b"answer to " + frames[1] + b"changed" + b"real"
        assert answers[2] == frames[2][4:8] + b"answer to " + frames[2]
        assert frame_of(frames[1] + b"changed") + frame_of(frames[2]) in broker.came


@run
async def test_a_cancelled_request_of_ours_is_still_sent_completely():
    class Impatient(NoGroups):
        def wants(self, head):
            return head.api_key == HEARTBEAT

        async def request(self, head, frame, ask):
            question = FindCoordinatorRequest(version=3, key="k" * 20_000_000, key_type=0)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ask(question), 0.2)
            broker.reading.set()
            return frame

    async with joined(groups=Impatient) as (client, broker, gateway):
        broker.reading.clear()
        await client.send(request(LIST_OFFSETS, 5, 1), request(HEARTBEAT, 4, 2))
        assert [(await client.receive())[:4] for _ in range(2)] == [struct.pack(">i", number) for number in (1, 2)]
        assert broker.came.endswith(frame_of(request(HEARTBEAT, 4, 2)))
        assert not refused(gateway)


@pytest.mark.parametrize("way", ["read", "write", "splice"])
@run
async def test_a_vanished_peer_is_counted_as_a_broken_connection(way, monkeypatch):
    def vanished(*_, **__):
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    class Vanished(socket.socket):
        recv = send = vanished

    monkeypatch.setattr(os, "splice", vanished, raising=False)
    ours, theirs = socket.socketpair()
    connection = tcp_connections.PlainConnection(Vanished(fileno=ours.detach()), "peer")
    theirs.send(b"x")
    with theirs, pytest.raises(ConnectionError, match="timed out"):
        await {
            "read": lambda: connection.read(1),
            "write": lambda: connection.write(b"x"),
            "splice": lambda: tcp_connections.move(
                connection, connection, tcp_connections.SPLICE_BYTES_MIN, Pipes(), lambda: None
            ),
        }[way]()
    await connection.close()


@run
async def test_a_caller_on_a_connection_that_ends_gets_an_error():
    reported = asyncio.get_running_loop().create_future()

    class Waiting(Asking):
        async def request(self, head, frame, ask):
            try:
                return await super().request(head, frame, ask)
            except ConnectionError as error:
                reported.set_result(error)
                raise

    def ends(frame):
        raise End

    async with joined(ends, groups=Waiting) as (client, _, _):
        await client.send(request(HEARTBEAT, 4, 1))
        assert isinstance(await reported, ConnectionError)
        await client.ended()


HOSTILE = {
    "a length below a header": (struct.pack(">i", 3) + b"abc", CloseReason.MALFORMED),
    "a negative length": (struct.pack(">i", -5) + b"abcdefgh", CloseReason.MALFORMED),
    "no length": (bytes(4), CloseReason.MALFORMED),
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", CloseReason.OVERSIZED),
    "TLS": (bytes.fromhex("16030100f4010000f00303"), CloseReason.OVERSIZED),
    "SASL of old": (frame_of(request(SASL_HANDSHAKE, 0, 1, b"\0\5PLAIN")), CloseReason.SASL_V0),
    "a Produce that ends in its header": (frame_of(request(0, 9, 1)), CloseReason.MALFORMED),
    "a Produce of a version to come": (frame_of(request(0, 99, 1, bytes(50))), CloseReason.MALFORMED),
    "half a frame": (frame_of(request(HEARTBEAT, 4, 1, bytes(100)))[:50], CloseReason.TRUNCATED),
    "half a large frame": (frame_of(request(HEARTBEAT, 4, 1, bytes(LARGE)))[: LARGE // 2], CloseReason.TRUNCATED),
    "half a length": (b"\0\0", CloseReason.TRUNCATED),
}


@pytest.mark.parametrize("name", HOSTILE)
@run
async def test_an_invalid_request_ends_only_its_connection(name):
    sent, reason = HOSTILE[name]
    async with joined() as (client, _, gateway):
        other = await Client.connect(gateway.port)
        await other.send(request(HEARTBEAT, 4, 1))
        await other.receive()
        client.writer.write(sent)
        if reason is CloseReason.TRUNCATED:
            client.writer.write_eof()
        await client.ended()
        await eventually(lambda: refused(gateway) == {reason: 1})
        await other.send(request(HEARTBEAT, 4, 2))
        assert (await other.receive())[:4] == struct.pack(">i", 2)
        await other.close()


@run
async def test_mutated_requests_and_responses_end_no_other_connection_and_are_no_internal_error():
    chance = random.Random(6)
    good = [frame_of(request(key, version, 1, bytes(40))) for key in range(20) for version in (0, 4, 9)]
    good += [frame_of(produce(version, -1, 1)) for version in range(3, 14)]

    def damaged(data):
        return mutated(chance, data, good, (), text=False)

    async with joined(lambda frame: frame[4:8] + damaged(frame + bytes(60))) as (well, _, gateway):
        for _ in range(300):
            client = await Client.connect(gateway.port)
            client.writer.write(damaged(chance.choice(good)))
            client.writer.write_eof()
            await client.ended()
            await client.close()
        await well.send(request(HEARTBEAT, 4, 2))
        assert (await well.receive())[:4] == struct.pack(">i", 2)
        assert CloseReason.MALFORMED in refused(gateway)
        assert CloseReason.FAILED not in refused(gateway)


ILL_ANSWERS = {
    "an answer to another request": (lambda frame: b"\x7f" + frame[5:8], CloseReason.MISMATCHED),
    "an answer without a head": (lambda _: b"ab", CloseReason.MALFORMED),
}


@pytest.mark.parametrize("name", ILL_ANSWERS)
@run
async def test_an_unexpected_response_of_a_broker_ends_the_connection(name):
    answer, reason = ILL_ANSWERS[name]
    async with joined(answer) as (client, _, gateway):
        await client.send(request(HEARTBEAT, 4, 1))
        assert (await client.ended())[0] == b""
        await eventually(lambda: refused(gateway) == {reason: 1})


@run
async def test_an_unreadable_response_with_brokers_is_not_forwarded():
    async with joined(lambda frame: frame[4:8] + b"nonsense") as (client, _, gateway):
        await client.send(request(3, 9, 1))
        assert (await client.ended())[0] == b""
        await eventually(lambda: refused(gateway) == {CloseReason.MALFORMED: 1})


@run
async def test_a_frame_to_be_parsed_must_arrive_in_time(monkeypatch):
    monkeypatch.setattr(lane, "WHOLE_SECONDS_MAX", 0.1)
    async with joined(groups=ReadsHeartbeats) as (client, broker, gateway):
        client.writer.write(frame_of(request(HEARTBEAT, 4, 1, bytes(100)))[:50])
        await client.ended()
        await eventually(lambda: refused(gateway) == {CloseReason.SLOW: 1})
        assert broker.came == b""


@run
async def test_the_size_of_a_frame_to_be_parsed_is_bounded(monkeypatch):
    monkeypatch.setattr(relay, "READ_REQUEST_BYTES_MAX", 1_000)
    async with joined(groups=ReadsHeartbeats) as (client, broker, gateway):
        await client.send(request(HEARTBEAT, 4, 1, bytes(2_000)))
        await client.ended()
        await eventually(lambda: refused(gateway) == {CloseReason.OVERSIZED: 1})
        assert broker.came == b""


@run
async def test_a_large_frame_that_would_only_be_observed_is_forwarded_unread(monkeypatch):
    monkeypatch.setattr(relay, "OBSERVED_BYTES_MAX", 1_000)
    shown = []

    class Observing(ReadsHeartbeats):
        def observes(self, head):
            return True

        async def request(self, head, frame, ask):
            shown.append(len(frame))
            return frame

    async with joined(groups=Observing) as (client, broker, gateway):
        frames = [request(HEARTBEAT, 4, number, bytes(size)) for number, size in enumerate((900, 2_000, 900))]
        await client.send(*frames)
        assert [(await client.receive())[:4] for _ in frames] == [frame[4:8] for frame in frames]
        assert broker.came == b"".join(map(frame_of, frames))
        assert shown == [len(frames[0]), len(frames[2])]
        assert not refused(gateway)


@run
async def test_an_unexpected_exception_ends_one_connection(caplog):
    class Faulty(ReadsHeartbeats):
        async def request(self, head, frame, ask):
            raise KeyError(head.api_key)

    async with joined(groups=Faulty) as (client, _, gateway):
        await client.send(request(HEARTBEAT, 4, 1))
        await client.ended()
        await eventually(lambda: refused(gateway) == {CloseReason.FAILED: 1})
        assert "KeyError" in caplog.text


@run
async def test_a_closed_client_connection_closes_the_brokers_side():
    async with joined() as (client, broker, gateway):
        await client.send(request(HEARTBEAT, 4, 1))
        await client.receive()
        await client.close()
        await asyncio.wait_for(broker.ended.wait(), PATIENCE_S)
        await eventually(lambda: not refused(gateway) and open_connections(gateway) == 0)


@run
async def test_a_client_that_half_closes_still_gets_its_responses():
    async with joined() as (client, _, _):
        await client.send(request(HEARTBEAT, 4, 1), request(HEARTBEAT, 4, 2))
        client.writer.write_eof()
        answers, broken = await client.ended()
        assert answers.count(b"answer to ") == 2
        assert not broken


@run
async def test_a_closed_and_a_broken_broker_connection_are_distinguished():
    def ends(frame):
        raise End

    def breaks(frame):
        raise Reset

    for answer, expected in ((ends, False), (breaks, True)):
        async with joined(answer) as (client, _, _):
            await client.send(request(HEARTBEAT, 4, 1))
            assert await client.ended() == (b"", expected)


@run
async def test_a_broker_that_does_not_read_blocks_its_client_without_memory_growth():
    async with joined() as (client, broker, _):
        broker.reading.clear()
        await client.send(request(LIST_OFFSETS, 5, 0))
        client.writer.transport.set_write_buffer_limits(high=0)
        sent = []

        async def send():
            for number in itertools.count(1):
                await client.send(request(LIST_OFFSETS, 5, number, bytes(1_000_000)))
                sent.append(number)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(send(), 1)
        assert len(sent) < 40  # the capacity of the sockets and a pipe, of all the data
        client.writer.transport.abort()


@run
async def test_a_vanished_client_is_noticed_although_the_broker_does_not_read(monkeypatch):
    monkeypatch.setattr(relay, "STUCK_CHECK_SECONDS", 0.05)
    async with joined() as (client, broker, gateway):
        broker.reading.clear()
        client.writer.write(frame_of(request(LIST_OFFSETS, 5, 0, bytes(30_000_000))))
        await asyncio.sleep(0.3)
        reset(client.writer)
        await eventually(lambda: refused(gateway) == {CloseReason.STUCK: 1})
        await eventually(lambda: open_connections(gateway) == 0)


@run
async def test_requests_wait_when_too_many_are_in_flight(monkeypatch):
    monkeypatch.setattr(requests_in_flight, "IN_FLIGHT_MAX", 3)
    held = []

    def hold(frame):
        held.append(frame)

    async with joined(hold) as (client, broker, _):
        await client.send(*(request(HEARTBEAT, 4, number) for number in range(10)))
        await eventually(lambda: len(held) == 3)
        await asyncio.sleep(0.05)
        assert len(held) == 3
        broker.writers[0].write(frame_of(held[0][4:8]))
        assert await client.receive() == held[0][4:8]
        await eventually(lambda: len(held) == 4)
