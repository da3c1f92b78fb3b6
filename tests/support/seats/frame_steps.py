"""Steps of tests that exchange frames with seats: members, newcomers that wait, and members that leave."""

from __future__ import annotations

import asyncio

from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.subscription import ConsumerSubscription
from support.gateway.seat_clients import SeatClient, settle
from support.gateway.transport import run

__all__ = [
    "OTHER_TOPIC",
    "REBALANCING",
    "UNKNOWN",
    "beside",
    "ended",
    "held",
    "member",
    "one_enters",
    "rebalanced",
    "run",
    "succeeded_elsewhere",
    "waiting",
]

OTHER_TOPIC = encode_subscription(ConsumerSubscription(3, ("other",)))
REBALANCING, UNKNOWN = 27, 25


async def member(gateway, client_id="old", **options):
    """A member with a seat in a stable group without earlier history."""
    one = await SeatClient(gateway, client_id, **options).enter()
    await gateway.advance(5)
    return one


async def waiting(gateway, client_id="new", *, version=9, **fields):
    """A newcomer whose JoinGroup is held, and the task that joins."""
    return await held(SeatClient(gateway, client_id, version=version), **fields)


async def held(client, **fields):
    """A client whose first frame is held, and the task that joins."""
    task = asyncio.create_task(client.enter(**fields))
    await settle()
    assert not task.done()
    return client, task


async def ended(client):
    """The task that closes a client."""
    task = asyncio.create_task(client.close())
    await settle()
    return task


async def succeeded_elsewhere(old, second, newcomer):
    """A member leaves while ``newcomer`` waits behind the gateway ``second``; return the newcomer's task that joins."""
    _, joining = await held(newcomer)
    await second.advance(1)
    assert await old.leave() == 0
    await ended(old)
    return joining


async def beside(gateway, number, apart=1.0, **fields):
    """A member, and newcomers that arrive one after the other."""
    old = await member(gateway)
    newcomers = []
    for name in range(number):
        newcomers.append(await waiting(gateway, f"new-{name}", **fields))
        await gateway.advance(apart)
    return old, newcomers


async def rebalanced(old, newcomers):
    """The member detects the rebalance and joins again; return the generations of all members afterwards."""
    assert await old.heartbeat() == REBALANCING
    await asyncio.gather(old.enter(), *(task for _, task in newcomers))
    return {old.generation, *(one.generation for one, _ in newcomers)}


async def one_enters(*newcomers):
    """Two newcomers find one seat: one of them enters with it, and the claim of the other one is refused."""
    tasks = [asyncio.create_task(newcomer.enter()) for newcomer in newcomers]
    await settle()
    assert [task.done() for task in tasks].count(True) == 1
    assert sorted(each.gateway.acts.counted["claim", "refused"] for each in newcomers) == [0, 1]
    for task in tasks:
        task.cancel()
