"""The shared memory budget of frames: addresses share it, and waiters wait for a bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest

from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.sharing import frame_memory as module
from rebalance_agent.gateway.transport.sharing.frame_memory import SMALL_BYTES, FrameMemoryBudget
from support.gateway.transport import run

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
        async with room.frame(**how) as memory:
            await memory.grow(size)
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
async def test_partial_frames_that_fill_the_memory_become_whole_one_after_another():
    room, whole, used = FrameMemoryBudget(4 * LARGE), [], []

    async def client(host):
        async with room.frame(host) as memory:
            for part in range(1, 9):
                await memory.grow(part * LARGE)
                used.append(room._taken)
                await asyncio.sleep(0)
            whole.append(host)

    await asyncio.gather(*map(client, "aaabbbcdef"))
    assert sorted(whole) == [*"aaabbbcdef"]
    assert 4 * LARGE < max(used) <= (4 + 8) * LARGE, "only the oldest frame exceeds the budget"
    assert (room._taken, room._taken_by, room._waiting, room._users, room._users_of) == (0, {}, {}, {}, {})


@run
async def test_a_partial_frame_waits_for_memory_without_a_deadline_for_its_use(monkeypatch):
    monkeypatch.setattr(module, "HOLD_SECONDS_MAX", 0.1)
    room = FrameMemoryBudget(4 * LARGE)
    stuck = Holder(room, LARGE, host="a")
    await settled()
    async with room.frame("a") as memory:
        await memory.grow(LARGE)
        await memory.grow(3 * LARGE)
        with pytest.raises(RefusedError, match="other frames waited"):
            await stuck.task
    assert room._taken == 0


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
    assert (room._taken, room._users) == (0, {})
