"""Newcomers that a gateway admits together, frame by frame."""

from __future__ import annotations

import asyncio

from support.seats.frame_steps import REBALANCING, member, waiting

__all__ = ["RULE", "beside", "rebalanced"]

RULE = "orders={},seats.hold.seconds=0"


async def beside(gateway, number, apart=1.0, **fields):
    """A member, and newcomers that arrive one after the other."""
    old = await member(gateway)
    newcomers = []
    for name in range(number):
        newcomers.append(await waiting(gateway, f"new-{name}", **fields))
        await gateway.advance(apart)
    return old, newcomers


async def rebalanced(old, newcomers):
    """The member notices the rebalance and joins it; the generations of all afterwards."""
    assert await old.heartbeat() == REBALANCING
    await asyncio.gather(old.enter(), *(task for _, task in newcomers))
    return {old.generation, *(one.generation for one, _ in newcomers)}
