"""Frames that are read whole have so much room together, and who finds none waits, in order, for a bounded time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from rebalance_agent.gateway import room as module
from rebalance_agent.gateway.refusal import Refusal, RefusedError
from rebalance_agent.gateway.room import SMALL_BYTES, Room
from support.gateway_transport import Client, NoGroups, RawBroker, eventually, frame_of, refused, request, run, through

LARGE = SMALL_BYTES + 1
HEARTBEAT = 12


class Holder:
    """Somebody who holds room until it is let go."""

    def __init__(self, room, size, **how):
        self.has, self._let_go = False, asyncio.Event()
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
async def test_who_finds_no_room_waits_in_order_and_small_frames_do_not():
    room = Room(2 * LARGE)
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
async def test_one_frame_alone_may_be_larger_than_all_room():
    room = Room(LARGE)
    first, second = Holder(room, 10 * LARGE), Holder(room, LARGE)
    await settled()
    assert (first.has, second.has) == (True, False)
    await first.end()
    await settled()
    assert second.has
    await second.end()


@run
async def test_who_gives_up_leaves_no_gap(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS_MAX", 0.05)
    room = Room(LARGE)
    holder = Holder(room, LARGE)
    await settled()
    given_up, late, cancelled = Holder(room, LARGE), Holder(room, LARGE), Holder(room, LARGE)
    await settled()
    cancelled.task.cancel()
    for each in (given_up, late):
        with pytest.raises(RefusedError, match="left no room") as refusal:
            await each.task
        assert refusal.value.refusal is Refusal.ROOM
    with contextlib.suppress(asyncio.CancelledError):
        await cancelled.task
    await holder.end()
    assert (room._taken, len(room._waiting)) == (0, 0)
    last = Holder(room, LARGE)
    await settled()
    assert last.has
    await last.end()


@run
async def test_a_wait_that_ends_as_room_is_given_gives_it_back():
    room = Room(LARGE)
    holder, waiting = Holder(room, LARGE), Holder(room, LARGE)
    await settled()
    holder._let_go.set()
    await asyncio.sleep(0)
    waiting.task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting.task
    await holder.task
    assert room._taken == 0


class Reading(NoGroups):
    """Reads every heartbeat."""

    def wants(self, head):
        return head.api_key == HEARTBEAT


@run
async def test_clients_that_hold_back_the_end_of_large_frames_leave_room_for_small_ones(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS_MAX", 0.2)
    broker = await RawBroker().start()
    async with through(broker.port, groups=Reading) as gateway:
        monkeypatch.setattr(gateway, "_memory", Room(LARGE))
        clients = [await Client.connect(gateway.port) for _ in range(3)]
        large = frame_of(request(HEARTBEAT, 4, 1, bytes(LARGE)))
        clients[0].writer.write(large[:-1])
        await clients[0].writer.drain()
        await eventually(lambda: gateway._memory._taken)
        clients[1].writer.write(large)
        await clients[1].ended()
        assert refused(gateway) == {Refusal.ROOM: 1}
        await clients[2].send(request(HEARTBEAT, 4, 2))
        assert await clients[2].receive()
        clients[0].writer.write(large[-1:])
        assert await clients[0].receive()
        assert gateway._memory._taken == 0
        for each in clients:
            await each.close()
    await broker.stop()
