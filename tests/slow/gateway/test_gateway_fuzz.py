"""The gateway's fuzzer for minutes, and the memory that hostile clients can use."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import socket

import psutil
import pytest
from bench.gateway.hostile import ATTACKS, beside

from rebalance_agent.gateway.transport.splice import IDLE_MAX
from support.gateway.fuzz import fuzz
from support.gateway.transport import LENGTH, RawBroker, eventually, open_connections, request, run, through

pytestmark = pytest.mark.slow

CONNECTIONS = 3_000
CLIENTS = 100
GROWN_BYTES_MAX = 16 * 2**20
OBJECTS_MAX = 5_000
"""Allowed growth in Python objects; one connection has some dozens."""

HELD_BYTES_MAX = 40 * 2**20
"""Memory of the process while 100 clients send and the broker reads nothing; sockets' buffers are in the kernel."""

LIMIT_MIB = 256
"""Memory limit of the chart's sidecars, which run gateways."""

LIST_OFFSETS = 2
CHUNK = bytes(2**20)


class Footprint:
    """The memory of this process after free memory was returned to the system."""

    def __init__(self):
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        process = psutil.Process()
        self.bytes, self.descriptors = process.memory_info().rss, process.num_fds()
        self.objects = len(gc.get_objects())


def test_thousands_of_hostile_connections_leave_nothing_behind():
    asyncio.run(fuzz(1, CONNECTIONS // 4))
    before = Footprint()
    report = asyncio.run(fuzz(2, CONNECTIONS))
    after = Footprint()
    assert report.faults == []
    assert report.rebalances > CONNECTIONS / 100
    assert after.bytes - before.bytes < GROWN_BYTES_MAX
    assert after.objects - before.objects < OBJECTS_MAX
    assert after.descriptors <= before.descriptors + 2 * IDLE_MAX


@run
async def test_unread_data_blocks_its_senders():
    broker = await RawBroker().start()
    async with through(broker.port) as gateway, contextlib.AsyncExitStack() as stack:
        broker.reading.clear()
        clients = []
        for _ in range(CLIENTS):
            clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port))))
            clients[-1].setblocking(False)
            clients[-1].send(LENGTH.pack(64 * 2**20) + request(LIST_OFFSETS, 5, 0))
        await eventually(lambda: open_connections(gateway) == CLIENTS)
        before, sent = psutil.Process().memory_info().rss, 0
        for _ in range(50):
            for each in clients:
                with contextlib.suppress(BlockingIOError):
                    sent += each.send(CHUNK)
            await asyncio.sleep(0.02)
        assert sent > CLIENTS * len(CHUNK)
        assert psutil.Process().memory_info().rss - before < HELD_BYTES_MAX
        broker.reading.set()
    await broker.stop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("attacks", [*((name,) for name in ATTACKS), tuple(ATTACKS)], ids="-".join)
def test_other_clients_are_served_beside_a_hostile_one(attacks):
    found = beside(attacks, samples=60)
    assert len(found.through_ms) == 60, "each call of the other client was answered"
    assert found.peak_mib < LIMIT_MIB
