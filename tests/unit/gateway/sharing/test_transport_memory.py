"""A connection that has ended uses no memory, without a run of the garbage collector."""

from __future__ import annotations

import gc
import struct
import tracemalloc

from rebalance_agent.gateway.transport.close_reason import CloseReason
from support.gateway.transport import (
    HEARTBEAT,
    Client,
    RawBroker,
    ReadsHeartbeats,
    eventually,
    refused,
    request,
    run,
    through,
)

CLAIMED, ARRIVED, CLIENTS = 4_000_000, 1_000_000, 10


@run
async def test_a_frame_that_ended_early_leaves_no_bytes():
    broker = await RawBroker().start()
    async with through(broker.port, groups=ReadsHeartbeats) as gateway:
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(CLIENTS):
                client = await Client.connect(gateway.port)
                head = request(HEARTBEAT, 4, 1)
                client.writer.write(struct.pack(">i", CLAIMED) + head + bytes(ARRIVED))
                await client.writer.drain()
                await client.close()
            await eventually(lambda: refused(gateway) == {CloseReason.TRUNCATED: CLIENTS})
            used, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    await broker.stop()
    assert used < ARRIVED
