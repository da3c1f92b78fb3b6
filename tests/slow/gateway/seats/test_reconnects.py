"""Ten thousand reconnects of living consumers: the gateway never treats one as dead."""

from __future__ import annotations

import asyncio
import random

import pytest
from kafka.protocol.consumer.group import LeaveGroupRequest

from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.seats.frame_steps import ended

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MEMBERS, RECONNECTS = 10, 10_000
WINDOW_MS = 1_000 * SeatSettings().crash_window_seconds


async def members(gateway):
    """Consumers of one group that have entered, each by itself, and rejoined until the group was stable."""

    async def enter(client):
        await client.join()
        await client.sync()

    clients = [SeatClient(gateway, f"app-{number}") for number in range(MEMBERS)]
    entering = {client: asyncio.create_task(enter(client)) for client in clients}
    unstable = True
    while unstable:
        await gateway.advance(1)
        unstable = False
        for client, task in entering.items():
            if not task.done():
                unstable = True
            elif await client.heartbeat():
                entering[client] = asyncio.create_task(enter(client))
                unstable = True
    return clients


def test_ten_thousand_reconnects_cause_no_leave():
    asyncio.run(reconnect_ten_thousand_times())


async def reconnect_ten_thousand_times():
    gateway, chance = SeatGateway(), random.Random(1)
    living = await members(gateway)
    await gateway.advance(30)
    for turn in range(RECONNECTS // MEMBERS):
        # All lose their connections at the same moment, and are back at any later one of the window.
        for each in living:
            await ended(each)
        back = sorted((chance.randrange(round(WINDOW_MS)), number) for number in range(MEMBERS))
        now = 0
        for at, number in back:
            gateway.clock.advance(at - now)
            gateway.seats.step()
            await settle()
            now, again = at, SeatClient(gateway, f"app-{number}")
            again.member_id, again.generation = living[number].member_id, living[number].generation
            # The next heartbeat of some is due only after the window.
            if turn % 3 == number % 3:
                assert await again.heartbeat() == 0
            living[number] = again
        if turn % 5 == 0:
            await gateway.advance(WINDOW_MS / 1_000 + 1, 1)
    await gateway.advance(30)
    assert [await each.heartbeat() for each in living] == [0] * MEMBERS
    assert gateway.acts.counted["give_up", "done"] == 0
    assert not gateway.coordinator.asked(LeaveGroupRequest)
    await ended(living.pop())
    await gateway.advance(WINDOW_MS / 1_000 + 5)
    assert gateway.acts.counted["give_up", "done"] == 1, "one that does not come back is noticed"
