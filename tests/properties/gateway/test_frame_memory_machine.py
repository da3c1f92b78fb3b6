"""Any order of frames of several addresses stays within the shared budget, and each frame gets its memory at last."""

from __future__ import annotations

import asyncio

from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_agent.gateway.transport.sharing.frame_memory import SMALL_BYTES, FrameMemoryBudget
from support.gateway.transport import run

HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
LARGE = SMALL_BYTES + 1
BUDGET = 12 * LARGE
SIZES = (LARGE, 2 * LARGE, 4 * LARGE)

TURNS = 5


class Frame:
    """A task that gets memory in steps, each after a call of `grow`, and holds it until `end`."""

    def __init__(self, room, host, sizes):
        self.host, self.memory, self.left = host, None, len(sizes)
        self._steps, self._over = asyncio.Semaphore(0), asyncio.Event()
        self.task = asyncio.create_task(self._hold(room, sizes))

    async def _hold(self, room, sizes):
        async with room.frame(self.host) as self.memory:
            for size in sizes:
                await self._steps.acquire()
                await self.memory.grow(size)
                self.left -= 1
            await self._over.wait()

    def grow(self):
        self._steps.release()

    def end(self):
        self._over.set()


async def settled():
    for _ in range(TURNS):
        await asyncio.sleep(0)


def within(room, frames):
    used = {host: [each.memory.used for each in frames if each.host == host and each.memory] for host in HOSTS}
    assert room._taken == sum(map(sum, used.values())) <= BUDGET + max(SIZES), "only the oldest frame may exceed it"
    assert all(sum(each) <= BUDGET // 2 + max(SIZES) for each in used.values())


FRAMES = st.lists(
    st.tuples(st.sampled_from(HOSTS), st.lists(st.sampled_from(SIZES), min_size=1, max_size=3)), max_size=14
)
PARTIAL = [(host, [LARGE, 4 * LARGE]) for host in HOSTS] * 4
"""Frames that fill the budget before each of them needs more."""


@given(FRAMES, st.randoms(use_true_random=False))
@example(PARTIAL, None)
@example([(HOSTS[0], [LARGE])] * 14, None)
def test_any_frames_stay_within_the_budget_and_all_get_their_memory(frames, chance):
    @run
    async def played():
        room = FrameMemoryBudget(BUDGET)
        made = [Frame(room, host, sizes) for host, sizes in frames]
        steps = [each for turn in range(3) for each, (_, sizes) in zip(made, frames, strict=True) if turn < len(sizes)]
        if chance:
            chance.shuffle(steps)
        for each in steps:
            each.grow()
            await settled()
            within(room, made)
        left = list(made)
        while left:
            done = next((each for each in left if not each.left), None)
            assert done, "frames wait for each other"
            done.end()
            await done.task
            left.remove(done)
            await settled()
            within(room, left)
        assert (room._taken, room._waiting, room._users) == (0, {}, {})

    played()
