"""Addresses take turns in the event loop: many connections of one do not delay the steps of another's."""

from __future__ import annotations

import asyncio
import gc
import socket
from functools import partial
from itertools import pairwise

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.transport.sharing.fair_turns import ADMITTED_MAX, LONG_SECONDS, TURN_SECONDS, FairTurns
from support.gateway.transport import NoGroups, RawBroker, eventually, frame_of, request, run, through

BUSY, OTHER = "10.0.0.1", "10.0.0.2"
TURN_MS = round(1_000 * TURN_SECONDS)
HOUR_MS = 3_600_000
FRIEND = "127.0.0.3"
HEARTBEAT = 12


class Work:
    """Coroutines whose steps take time of a clock, and are noted."""

    def __init__(self):
        self.clock, self.steps = FakeClock(), []
        self.turns = FairTurns(self.clock)

    async def do(self, name, number, cost_ms):
        for _ in range(number):
            self.clock.advance(cost_ms)
            self.steps.append(name)
            await asyncio.sleep(0)
        return name

    async def rests(self, address):
        """Let an address rest for an hour after a long step, and return the coroutine's task."""
        task = self.begin(address, address, 1, HOUR_MS)
        while address not in self.steps:  # noqa: ASYNC110 - until its step has run
            await asyncio.sleep(0)
        return task

    def begin(self, address, name, number=1, cost_ms=TURN_MS):
        return asyncio.create_task(self.turns.of(address).run(partial(self.do, name, number, cost_ms)))


@run
async def test_each_address_gets_one_turn_in_a_pass():
    work = Work()
    busy = [work.begin(BUSY, number, 3) for number in range(100)]
    assert await work.begin(OTHER, OTHER, 10, 0) == OTHER
    at = [place for place, name in enumerate(work.steps) if name == OTHER]
    assert all(later - earlier <= 3 for earlier, later in pairwise(at)), "two passes may overlap"
    assert await asyncio.gather(*busy) == list(range(100))


@run
async def test_connections_of_one_address_are_served_in_order():
    work = Work()
    await asyncio.gather(*(work.begin(BUSY, number) for number in range(3 * ADMITTED_MAX)))
    assert work.steps == list(range(3 * ADMITTED_MAX))


@run
async def test_cheap_steps_share_a_pass():
    work, passes = Work(), 0
    busy = asyncio.gather(*(work.begin(BUSY, number, cost_ms=0) for number in range(100)))
    while not busy.done():
        passes += 1
        await asyncio.sleep(0)
    assert passes < 10


@run
async def test_an_address_owes_what_a_step_took_more_than_its_turn():
    work = Work()
    costly = [work.begin(BUSY, BUSY, cost_ms=5 * TURN_MS) for _ in range(4)]
    await work.begin(OTHER, OTHER, 8)
    assert work.steps.count(BUSY) <= 2
    await asyncio.gather(*costly)


@run
async def test_an_address_rests_after_a_long_step_while_others_are_connected():
    work = Work()
    connected = work.turns.of(OTHER)
    resting = [await work.rests(BUSY), work.begin(BUSY, "after the rest")]
    await work.begin(OTHER, OTHER, 100)
    assert work.steps == [BUSY, *[OTHER] * 100]
    for each in resting:
        each.cancel()
    await asyncio.gather(*resting, return_exceptions=True)
    del connected


@run
async def test_a_single_address_never_rests():
    work = Work()
    await asyncio.gather(*(work.begin(BUSY, BUSY, 2, HOUR_MS) for _ in range(10)))
    assert len(work.steps) == 20


@run
async def test_a_step_that_waited_for_a_processor_causes_no_rest(monkeypatch):
    work = Work()
    monkeypatch.setattr(work.clock, "thread_time", lambda: 0.0)
    connected = work.turns.of(OTHER)
    await work.begin(BUSY, BUSY, 3, HOUR_MS)
    assert len(work.steps) == 3
    del connected


@run
async def test_an_address_goes_on_after_its_rest():
    work = Work()
    connected = work.turns.of(OTHER)
    await asyncio.gather(*(work.begin(BUSY, BUSY, 2, round(1_000 * LONG_SECONDS)) for _ in range(3)))
    assert len(work.steps) == 6
    del connected


@run
async def test_cancellations_and_errors_reach_the_coroutine_while_it_waits_for_its_turn():
    work, caught = Work(), []

    async def interrupted(waiting):
        try:
            await waiting
        except BaseException as error:
            caught.append(type(error))
            raise

    loop = asyncio.get_running_loop()
    connected, turns, waits = work.turns.of(OTHER), work.turns.of(BUSY), [loop.create_future() for _ in range(3)]
    tasks = [asyncio.create_task(turns.run(partial(interrupted, each))) for each in waits]
    tasks.append(await work.rests(BUSY))
    waits[0].set_result(None)
    waits[1].set_exception(ConnectionResetError())
    await asyncio.sleep(0)
    for each in (tasks[0], *tasks[2:]):
        each.cancel()
    kinds = [type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)]
    assert kinds == [asyncio.CancelledError, ConnectionResetError, asyncio.CancelledError, asyncio.CancelledError]
    assert sorted(caught, key=str) == sorted(kinds[:3], key=str)
    del connected


@pytest.mark.filterwarnings("error")
@run
async def test_a_task_cancelled_before_its_first_step_leaves_nothing():
    work = Work()
    task = work.begin(BUSY, BUSY)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    gc.collect()
    await asyncio.sleep(0)
    assert not work.steps
    assert not work.turns.shared()


class Costly(NoGroups):
    """Spends a turn on each heartbeat."""

    def __init__(self, clock):
        self.clock = clock

    def wants(self, head):
        return head.api_key == HEARTBEAT

    async def request(self, head, frame, ask):
        self.clock.advance(TURN_MS)
        return frame


@pytest.mark.parametrize("connected_before", [True, False])
@run
async def test_a_client_is_answered_before_a_hundred_requests_of_another_address(connected_before):
    """Both have sent their requests before the gateway runs, the other one last."""
    broker, clock = await RawBroker().start(), FakeClock()
    async with through(broker.port, groups=lambda: Costly(clock), clock=clock) as gateway:

        def connected(host="127.0.0.1"):
            return socket.create_connection(("127.0.0.1", gateway.port), source_address=(host, 0))

        hostile, friend = [connected() for _ in range(100)], connected(FRIEND) if connected_before else None
        if friend:
            for each in (*hostile, friend):
                await asyncio.to_thread(_exchange, each)
        came = len(broker.came)
        for each in hostile:
            each.sendall(frame_of(request(HEARTBEAT, 4, 1, b"hostile")))
        friend = friend or connected(FRIEND)
        friend.sendall(frame_of(request(HEARTBEAT, 4, 1, b"friend")))
        await eventually(lambda: b"friend" in broker.came)
        assert broker.came.index(b"friend") - came < _hostile_bytes(50)
        for each in (friend, *hostile):
            each.close()
    await broker.stop()


def _hostile_bytes(number):
    """Bytes of so many hostile requests."""
    return number * len(frame_of(request(HEARTBEAT, 4, 1, b"hostile")))


def _exchange(connection):
    connection.sendall(frame_of(request(HEARTBEAT, 4, 2)))
    assert connection.recv(1_000)


@run
async def test_a_flood_of_new_connections_is_accepted_many_at_a_time():
    broker = await RawBroker().start()
    async with through(broker.port) as gateway:
        flood = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(200)]
        passes = 0
        while gateway._of_hosts["127.0.0.1"] < len(flood):
            passes += 1
            await asyncio.sleep(0)
        assert passes < 30
        for each in flood:
            each.close()
    await broker.stop()
