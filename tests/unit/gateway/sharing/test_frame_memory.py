"""The shared memory budget of frames: addresses share it, and waiters wait for a bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct

import pytest

from rebalance_agent.gateway import gateway_server
from rebalance_agent.gateway.connection_relay import READ_REQUEST_BYTES_MAX
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.sharing import frame_memory as module
from rebalance_agent.gateway.transport.sharing.frame_memory import SMALL_BYTES, FrameMemoryBudget
from support.gateway.transport import Client, NoGroups, RawBroker, eventually, frame_of, refused, request, run, through

LARGE = SMALL_BYTES + 1
LIST_OFFSETS, METADATA, HEARTBEAT = 2, 3, 12


class Holder:
    """A task that holds memory until its end; by default, each has its own address."""

    _numbers = itertools.count()

    def __init__(self, room, size, **how):
        self.has, self._let_go = False, asyncio.Event()
        how = {"host": f"10.0.0.{next(self._numbers)}"} | how
        self.task = asyncio.create_task(self._hold(room, size, how))

    async def _hold(self, room, size, how):
        async with room.taken(size, **how):
            self.has = True
            await self._let_go.wait()
        self.has = False

    async def end(self):
        self._let_go.set()
        await self.task


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


@run
async def test_large_frames_wait_in_order_for_memory_and_small_ones_do_not():
    room = FrameMemoryBudget(2 * LARGE)
    holders = [Holder(room, size) for size in (LARGE, LARGE, LARGE, LARGE, SMALL_BYTES)]
    await settled()
    assert [each.has for each in holders] == [True, True, False, False, True]
    urgent = Holder(room, LARGE, urgent=True)
    await holders[1].end()
    await settled()
    assert (urgent.has, holders[2].has) == (True, False)
    await urgent.end()
    await settled()
    assert (holders[2].has, holders[3].has) == (True, False)
    for each in (holders[0], *holders[2:]):
        await each.end()
    assert room._taken == 0


@run
async def test_a_single_frame_may_be_larger_than_the_budget():
    room = FrameMemoryBudget(LARGE)
    first, second = Holder(room, 10 * LARGE), Holder(room, LARGE)
    await settled()
    assert (first.has, second.has) == (True, False)
    await first.end()
    await settled()
    assert second.has
    await second.end()


@run
async def test_a_waiter_that_times_out_or_is_cancelled_blocks_no_other(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS_MAX", 0.05)
    room = FrameMemoryBudget(LARGE)
    holder = Holder(room, LARGE)
    await settled()
    given_up, late, cancelled = Holder(room, LARGE), Holder(room, LARGE), Holder(room, LARGE)
    await settled()
    cancelled.task.cancel()
    for each in (given_up, late):
        with pytest.raises(RefusedError, match="left no memory for a frame") as refusal:
            await each.task
        assert refusal.value.refusal is CloseReason.ROOM
    with contextlib.suppress(asyncio.CancelledError):
        await cancelled.task
    await holder.end()
    assert (room._taken, len(room._waiting)) == (0, 0)
    last = Holder(room, LARGE)
    await settled()
    assert last.has
    await last.end()


@run
async def test_a_waiter_cancelled_while_it_is_granted_memory_returns_it():
    room = FrameMemoryBudget(LARGE)
    holder, waiting = Holder(room, LARGE), Holder(room, LARGE)
    await settled()
    holder._let_go.set()
    await asyncio.sleep(0)
    waiting.task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting.task
    await holder.task
    assert room._taken == 0


@run
async def test_an_address_gets_half_of_the_memory_and_others_need_not_wait_for_it():
    room = FrameMemoryBudget(4 * LARGE)
    flood = [Holder(room, LARGE, host="10.9.9.9") for _ in range(10)]
    await settled()
    assert [each.has for each in flood] == [True, True, *[False] * 8]
    others = [Holder(room, LARGE) for _ in range(3)]
    await settled()
    assert [each.has for each in others] == [True, True, False]
    await flood[0].end()
    await settled()
    assert (others[2].has, flood[2].has) == (True, False), "the address that uses the fewest bytes is first"
    for each in (*others, *flood[1:]):
        await each.end()
    assert (room._taken, room._taken_by, room._waiting) == (0, {}, {})


@run
async def test_an_address_that_waits_for_its_own_memory_ends_no_frame_of_another(monkeypatch):
    monkeypatch.setattr(module, "HOLD_SECONDS_MAX", 0.1)
    room = FrameMemoryBudget(4 * LARGE)
    slow = Holder(room, LARGE)
    first, second, waiting = (Holder(room, LARGE, host="10.9.9.9") for _ in range(3))
    await settled()
    assert (slow.has, first.has, second.has, waiting.has) == (True, True, True, False)
    for each in (first, second):
        with pytest.raises(RefusedError, match="other frames waited"):
            await each.task
    await settled()
    assert (slow.has, waiting.has) == (True, True)
    for each in (slow, waiting):
        await each.end()


@run
async def test_a_frame_larger_than_the_budget_gets_its_turn_beside_a_flood(monkeypatch):
    monkeypatch.setattr(module, "HOLD_SECONDS_MAX", 0.1)
    room = FrameMemoryBudget(4 * LARGE)
    flood = [Holder(room, LARGE, host="10.9.9.9") for _ in range(10)]
    await settled()
    large = Holder(room, 10 * LARGE)
    await asyncio.gather(*(each.task for each in flood[:2]), return_exceptions=True)
    await settled()
    assert (large.has, any(each.has for each in flood[2:])) == (True, False)
    await large.end()
    for each in flood[2:]:
        await each.end()


class Reading(NoGroups):
    """Reads every heartbeat."""

    def wants(self, head):
        return head.api_key == HEARTBEAT


@run
async def test_clients_that_do_not_finish_large_frames_do_not_block_small_ones(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS_MAX", 0.2)
    broker = await RawBroker().start()
    async with through(broker.port, groups=Reading) as gateway:
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


@run
async def test_a_holder_keeps_its_memory_until_others_wait_for_it(monkeypatch):
    monkeypatch.setattr(module, "HOLD_SECONDS_MAX", 0.1)
    room = FrameMemoryBudget(LARGE)
    stuck = Holder(room, LARGE)
    await asyncio.sleep(0.3)
    assert stuck.has
    gone = Holder(room, LARGE)
    await settled()
    gone.task.cancel()
    await asyncio.sleep(0.3)
    assert stuck.has
    waiting, last = Holder(room, LARGE), Holder(room, SMALL_BYTES)
    with pytest.raises(RefusedError, match="other frames waited") as refusal:
        await stuck.task
    await settled()
    assert (refusal.value.refusal, waiting.has, last.has) == (CloseReason.SLOW, True, True)
    await asyncio.sleep(0.3)
    for each in (waiting, last):
        await each.end()
    assert (room._taken, room._holds) == (0, {})


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
    async with through(broker.port, groups=Reading) as gateway:
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
    """Each hostile connection sends the length of the largest frame and 10 bytes of it."""
    size = 100_000
    broker = await RawBroker(clusters(size)).start()
    async with through(broker.port, groups=Reading) as gateway:
        hostile = [await Client.connect(gateway.port, local_addr=("127.0.0.2", 0)) for _ in range(20)]
        for each in hostile:
            each.writer.write(struct.pack(">ihhih", READ_REQUEST_BYTES_MAX, HEARTBEAT, 4, 1, -1))
        await eventually(lambda: sum(map(len, gateway._memory._waiting.values())) == 18)
        client = await Client.connect(gateway.port)
        async with asyncio.timeout(10):
            await client.send(request(METADATA, 4, 1))
            assert len(await client.receive()) > size
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
