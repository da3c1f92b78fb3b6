"""Seats in groups of KIP-848 behind two gateways that know each other, frame by frame."""

from __future__ import annotations

import asyncio

import pytest

from support.epoch_seats.epoch_clients import EpochClient, EpochGateway
from support.gateway.seat_clients import settle
from support.seats.frame_steps import ended, run, succeeded_elsewhere
from unit.gateway.seating.test_epoch_frames import without_failures

BETWEEN = "orders=on,seats.between.gateways=true"
KEPT = f"{BETWEEN},seats.keep.seconds=30"


def gateways(seats=BETWEEN, other=None):
    first = EpochGateway(seats)
    return first, EpochGateway(seats if other is None else other, beside=first)


async def member(first, second, name="old"):
    one = await EpochClient(first, name).enter()
    await second.advance(5)
    assert await one.heartbeat() == 0
    return one


async def left_for_one_elsewhere(first, second):
    """A member behind ``first`` that left while a newcomer waits behind ``second``, the newcomer, and its joining."""
    old, new = await member(first, second), EpochClient(second, "new", version=1)
    return old, new, await succeeded_elsewhere(old, second, new)


@run
async def test_a_newcomer_takes_the_seat_of_a_member_that_leaves_behind_another_gateway():
    first, second = gateways()
    before = first.epochs.epoch
    old, new, joining = await left_for_one_elsewhere(first, second)
    await second.advance(1)
    await joining
    assert (first.epochs.epoch, new.partitions) == (before + 1, old.partitions), "one for the first member"
    assert second.acts.done("handover") == second.acts.done("claim") == first.acts.done("keep") == 1
    assert second.sent(-2) == [], "it has left by its own gateway"
    await second.advance(4)
    assert await new.heartbeat() == 0
    assert (first.acts.vacant, first.acts.done("give_up")) == (0, 0)
    assert first.acts.counted["keep", "right"] == 1
    assert second.acts.rebalances_spared["on"] == 1
    without_failures(first)
    without_failures(second)


@run
async def test_a_successor_behind_another_gateway_takes_a_seat_that_is_kept():
    first, second = gateways(KEPT)
    old = await member(first, second)
    before = first.epochs.epoch
    assert await old.leave() == 0
    await ended(old)
    await second.advance(20)
    new = await EpochClient(second, "new").enter()
    assert (first.epochs.epoch, new.partitions) == (before, old.partitions)


@run
async def test_a_seat_whose_member_is_back_elsewhere_is_not_taken_and_its_member_stays():
    first, second = gateways(KEPT)
    old = await member(first, second)
    before = first.epochs.epoch
    await old.leave()
    await ended(old)
    await second.advance(2)
    back = first.epochs.heartbeat(first.clock.monotonic(), old.member_id, 0, None, (["t"], None))
    assert back.error == 0
    new = EpochClient(second, "new")
    joining = asyncio.create_task(new.enter())
    await settle()
    assert second.acts.done("handover") == 0
    joining.cancel()
    assert first.epochs.epoch == before


@pytest.mark.parametrize("other", ["orders=on", "orders=off"])
@run
async def test_a_gateway_that_knows_no_other_one_takes_no_seat_of_another(other):
    first, second = gateways(KEPT, other)
    old = await member(first, second)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(2)
    new = EpochClient(second, "new")
    joining = asyncio.create_task(new.enter())
    await second.advance(30)
    await joining
    assert second.acts.done("handover") == 0


@run
async def test_a_gateway_alone_sends_nothing_for_a_seat_that_it_keeps():
    first, _ = gateways("orders=on,seats.hold.seconds=0,seats.keep.seconds=30")
    old = await EpochClient(first, "old").enter()
    await first.advance(5)
    await old.heartbeat()
    await old.leave()
    await ended(old)
    sent = len(first.heartbeats)
    await first.advance(10)
    assert len(first.heartbeats) == sent
