"""Clients that claim, send or read large frames slowly, beside others at one gateway."""

from __future__ import annotations

import asyncio
import struct

from rebalance_agent.gateway import gateway_server
from rebalance_agent.gateway.connection_relay import READ_REQUEST_BYTES_MAX
from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.gateway.transport.sharing import frame_memory as module
from rebalance_agent.gateway.transport.sharing.frame_memory import SMALL_BYTES, FrameMemoryBudget
from support.gateway.transport import (
    HEARTBEAT,
    Client,
    RawBroker,
    ReadsHeartbeats,
    eventually,
    frame_of,
    refused,
    request,
    run,
    through,
)
from unit.gateway.sharing.test_frame_memory import Holder, settled

LARGE = SMALL_BYTES + 1
LIST_OFFSETS, METADATA = 2, 3


@run
async def test_clients_that_do_not_finish_large_frames_do_not_block_small_ones(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS_MAX", 0.2)
    broker = await RawBroker().start()
    async with through(broker.port, groups=ReadsHeartbeats) as gateway:
        monkeypatch.setattr(gateway, "_memory", FrameMemoryBudget(LARGE))
        clients = [await Client.connect(gateway.port) for _ in range(3)]
        large = frame_of(request(HEARTBEAT, 4, 1, bytes(LARGE)))
        clients[0].writer.write(large[:-1])
        await clients[0].writer.drain()
        await eventually(lambda: gateway._memory._taken)
        clients[1].writer.write(large)
        await clients[1].ended()
        assert refused(gateway) == {CloseReason.ROOM: 1}
        await clients[2].send(request(HEARTBEAT, 4, 2))
        assert await clients[2].receive()
        clients[0].writer.write(large[-1:])
        assert await clients[0].receive()
        assert gateway._memory._taken == 0
        for each in clients:
            await each.close()
    await broker.stop()


def clusters(size):
    """Responds with a list of brokers, and ``size`` bytes of topics after it."""
    return lambda frame: frame[4:8] + struct.pack(">ii", 0, 0) + bytes(size)


@run
async def test_a_client_that_does_not_read_its_large_response_is_closed_when_others_wait(monkeypatch):
    monkeypatch.setattr(module, "HOLD_SECONDS_MAX", 0.3)
    size = 30_000_000  # more than the socket buffers hold
    broker = await RawBroker(clusters(size)).start()
    async with through(broker.port) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port, limit=1)
        monkeypatch.setattr(gateway, "_memory", FrameMemoryBudget(LARGE))
        one, other = Client(reader, writer), await Client.connect(gateway.port)
        await one.send(request(METADATA, 4, 1))
        await eventually(lambda: gateway._memory._taken)
        await other.send(request(METADATA, 4, 2))
        assert len(await other.receive()) > size
        assert refused(gateway) == {CloseReason.SLOW: 1}
        writer.transport.abort()
        await other.close()
    await broker.stop()


@run
async def test_frames_before_one_that_waits_for_memory_are_forwarded():
    def answer(frame):
        large = frame[:2] == struct.pack(">h", METADATA)
        return clusters(LARGE)(frame) if large else frame[4:8] + b"small"

    broker = await RawBroker(answer).start()
    async with through(broker.port, groups=ReadsHeartbeats) as gateway:
        client, room = await Client.connect(gateway.port), gateway._memory
        holder = Holder(room, room._max)
        await settled()
        await client.send(request(LIST_OFFSETS, 5, 1), request(HEARTBEAT, 4, 2, bytes(LARGE)))
        assert (await client.receive())[4:] == b"small"
        await eventually(lambda: room._waiting)
        await holder.end()
        await client.receive()
        holder = Holder(room, room._max)
        await settled()
        broker.reading.clear()
        await client.send(request(LIST_OFFSETS, 5, 3), request(METADATA, 4, 4))
        await asyncio.sleep(0.1)
        broker.reading.set()
        assert (await client.receive())[4:] == b"small"
        await holder.end()
        assert len(await client.receive()) > LARGE
        await client.close()
    await broker.stop()


@run
async def test_an_address_that_claims_large_frames_delays_no_response_of_another():
    """Each hostile connection sends the length of the largest frame and 10 bytes of it, and later 3 MB."""
    size = 100_000
    broker = await RawBroker(clusters(size)).start()
    async with through(broker.port, groups=ReadsHeartbeats) as gateway:
        hostile = [await Client.connect(gateway.port, local_addr=("127.0.0.2", 0)) for _ in range(20)]
        for each in hostile:
            each.writer.write(struct.pack(">ihhih", READ_REQUEST_BYTES_MAX, HEARTBEAT, 4, 1, -1))
        client = await Client.connect(gateway.port)
        async with asyncio.timeout(10):
            await client.send(request(METADATA, 4, 1))
            assert len(await client.receive()) > size
        assert gateway._memory._taken == 0, "only bytes that arrive use memory"
        for each in hostile:
            each.writer.write(bytes(3_000_000))
        # Forty-eight steps of 64 KiB of the connections that the address's half is enough for.
        await eventually(lambda: gateway._memory._waiting)
        async with asyncio.timeout(10):
            await client.send(request(METADATA, 4, 2))
            assert len(await client.receive()) > size
        assert gateway._memory._taken <= module.BUDGET_BYTES // 2 + READ_REQUEST_BYTES_MAX
        for each in (client, *hostile):
            each.writer.close()
        await eventually(lambda: not gateway._memory._taken)
    await broker.stop()


@run
async def test_clients_of_one_address_leave_slots_for_others(monkeypatch):
    monkeypatch.setattr(gateway_server, "ADDRESS_CONNECTIONS_MAX", 2)
    broker = await RawBroker().start()
    async with through(broker.port) as gateway:
        mine = [await Client.connect(gateway.port) for _ in range(2)]
        for number, each in enumerate(mine):
            await each.send(request(HEARTBEAT, 4, number))
            assert await each.receive()
        one_too_many = await Client.connect(gateway.port)
        await one_too_many.ended()
        assert refused(gateway) == {CloseReason.ROOM: 1}
        other = await Client.connect(gateway.port, local_addr=("127.0.0.2", 0))
        await other.send(request(HEARTBEAT, 4, 7))
        assert await other.receive()
        mine[0].writer.close()
        await eventually(lambda: gateway._of_hosts["127.0.0.1"] == 1)
        again = await Client.connect(gateway.port)
        await again.send(request(HEARTBEAT, 4, 8))
        assert await again.receive(), "a slot is free again"
        for client in (*mine, one_too_many, other, again):
            client.writer.close()
        await eventually(lambda: not gateway._of_hosts)
    await broker.stop()
    await settled()
