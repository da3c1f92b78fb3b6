"""Seats of two gateways before one coordinator, frame by frame."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.gateway.seating.connections import lock_requests
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.seats.frame_steps import ended, one_enters, run, succeeded_elsewhere, waiting

BETWEEN = "orders=on,seats.between.gateways=true"
KEPT = f"{BETWEEN},seats.keep.seconds=60"
FORBIDDEN = 30


def gateways(seats=BETWEEN, other=None):
    first = SeatGateway(seats)
    second = SeatGateway(seats if other is None else other, beside=first)
    return first, second


async def member(first, second, name="old"):
    """A member behind ``first``, in a stable group."""
    one = await SeatClient(first, name).enter()
    await second.advance(5)
    return one


async def kept_for_one_elsewhere(first, second):
    """A member behind ``first`` that left while a newcomer waits behind ``second``, the newcomer, and its joining."""
    old, new = await member(first, second), SeatClient(second, "new", version=9)
    return old, new, await succeeded_elsewhere(old, second, new)


@run
async def test_a_newcomer_takes_the_seat_of_a_member_that_leaves_behind_another_gateway():
    first, second = gateways()
    old, new, joining = await kept_for_one_elsewhere(first, second)
    await second.advance(1)
    assert (await joining).generation == old.generation
    assert new.member_id != old.member_id
    assert second.acts.done("handover") == second.acts.done("claim") == first.acts.done("keep") == 1
    await second.advance(3)
    assert (first.acts.vacant, first.acts.done("give_up")) == (0, 0)
    assert await new.heartbeat() == 0
    assert second.acts.rebalances_spared["on"] == 1


@run
async def test_a_successor_behind_another_gateway_takes_a_seat_that_is_kept():
    first, second = gateways(KEPT)
    old = await member(first, second)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(50)
    new = await SeatClient(second, "new").enter()
    assert new.generation == old.generation
    assert second.acts.done("handover") == 1


@run
async def test_a_seat_goes_from_gateway_to_gateway_and_back():
    first, second = gateways(KEPT)
    one = await member(first, second)
    generation = one.generation
    for place in (second, first, first, second):
        assert await one.leave() == 0
        await ended(one)
        await second.advance(1)
        one = await SeatClient(place, "next").enter()
        assert one.generation == generation
        await second.advance(4)
    assert sum(each.acts.done("handover") for each in (first, second)) == 4


@run
async def test_a_gateway_does_not_take_its_own_seat_back_from_a_newcomer_elsewhere():
    """The response to its next heartbeat for the vacant seat shows that another member has it."""
    first, second = gateways()
    _, new, joining = await kept_for_one_elsewhere(first, second)
    while not joining.done():
        second.seats.step()
        second.clock.advance(10)
        await settle()
    last = SeatClient(first, "last")
    task = asyncio.create_task(last.enter())
    await settle()
    assert first.acts.done("claim") == first.acts.counted["claim", "refused"] - 1 == 0
    first.seats.step()
    assert first.acts.vacant == 0, "it has learned that its seat has another member"
    assert await new.heartbeat() == 0
    assert not task.done()
    task.cancel()


class EndingClient(SeatClient):
    """A client that ends when a seat is claimed on its connection, before or after the coordinator has processed the
    claim."""

    ends = ""

    async def exchange(self, frame):
        if self.ends and read_head(frame).api_key == CONSUMER_HEARTBEAT.key:
            asked = CONSUMER_HEARTBEAT.decode_request(1, frame)
            if asked["member_epoch"] == 0 and asked["instance_id"].startswith(SEAT_PREFIX):
                if self.ends == "after":
                    await super().exchange(frame)
                self.closed, self.gone = True, True
        return await super().exchange(frame)


@run
@pytest.mark.parametrize("ends", ["before", "after"])
async def test_a_claim_lost_with_its_clients_connection_is_repeated_on_another_one(ends):
    first, second = gateways()
    old = await member(first, second)
    new, entering = await waiting(second)
    ending = EndingClient(second, "ends")  # its connection is the newest and is used first
    abandoned = asyncio.create_task(ending.enter())
    await settle()
    await second.advance(1)
    ending.ends = ends
    assert await old.leave() == 0
    await ended(old)
    await second.advance(1)
    assert ending.closed
    assert (await entering).generation == old.generation
    assert second.acts.done("handover") == second.acts.done("claim") == 1
    assert second.coordinator.model.members.keys() == {new.member_id}
    abandoned.cancel()


@run
async def test_one_of_two_newcomers_of_two_gateways_takes_the_seat():
    first, second = gateways(KEPT)
    third = SeatGateway(KEPT, beside=first)
    third.clock, third.coordinator = first.clock, first.coordinator
    old = await member(first, second)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(1)
    await one_enters(SeatClient(second, "b"), SeatClient(third, "c"))


@run
@pytest.mark.parametrize("blind", ["orders=on", "orders=on,seats.keep.seconds=60", "orders=off"])
async def test_gateways_without_sharing_take_no_seats_of_each_other(blind):
    first, second = gateways(blind, blind)
    old = await member(first, second)
    joining = asyncio.create_task(SeatClient(second, "new").enter())
    await settle()
    await old.leave()
    await ended(old)
    await second.advance(3)
    assert second.coordinator.lock_frames == []
    assert second.acts.done("handover") == 0
    joining.cancel()


@run
async def test_a_sharing_gateway_takes_no_seat_of_one_that_does_not_share():
    first, second = gateways("orders=on,seats.keep.seconds=60", KEPT)
    old = await member(first, second)
    assert await old.leave() == 0
    await ended(old)
    _, joining = await waiting(second)
    await second.advance(3)
    assert not joining.done()
    joining.cancel()


@run
async def test_without_rights_on_the_lock_group_each_gateway_works_alone():
    first, second = gateways(KEPT)
    first.coordinator.lock_error = FORBIDDEN
    old = await member(first, second)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(1)
    asked = len(first.coordinator.lock_frames)
    new = await SeatClient(first, "new").enter()
    assert new.generation == old.generation
    assert first.acts.counted["claim", "failed"] == 1
    assert len(first.coordinator.lock_frames) == asked, "it is not repeated at once"


@run
@pytest.mark.parametrize("versions", [{}, {68: 0, 69: 0}])
async def test_a_broker_without_the_apis_of_locks_gets_no_lock_request(versions):
    first, second = gateways(KEPT)
    first.coordinator.versions = versions
    old = await member(first, second)
    await old.leave()
    await ended(old)
    await second.advance(1)
    new = await SeatClient(first, "new").enter()
    assert new.generation == old.generation
    assert first.coordinator.lock_frames == []
    assert first.acts.counted["claim", "failed"] == 1


@run
@pytest.mark.parametrize("damaged", [b"", bytes(5), b"\xff" * 64, bytes(200)])
async def test_with_unreadable_responses_each_gateway_works_alone(damaged):
    first, second = gateways(KEPT)
    first.coordinator.locks = lambda _frame: damaged
    old = await member(first, second)
    assert await old.leave() == 0
    await ended(old)
    await second.advance(1)
    _, joining = await waiting(second)
    new = SeatClient(first, "new")
    entering = asyncio.create_task(new.enter())
    await second.advance(4)
    assert (await entering).generation == old.generation
    await second.advance(5)
    assert not joining.done()
    assert second.acts.done("claim") == 0
    joining.cancel()


@run
async def test_a_description_of_too_many_locks_counts_as_none(monkeypatch):
    first, second = gateways(KEPT)
    old = await member(first, second)
    await old.leave()
    await ended(old)
    await second.advance(1)
    monkeypatch.setattr(lock_requests, "DESCRIPTION_BYTES_MAX", 10)
    _, joining = await waiting(second)
    await second.advance(2)
    assert not joining.done()
    joining.cancel()


@run
async def test_a_leave_waits_at_most_a_second_for_other_gateways():
    first, second = gateways()
    old = await member(first, second)
    never = asyncio.get_running_loop().create_future()

    async def silent(_request):
        return await never

    first.coordinator._describe = silent
    leaving = asyncio.create_task(old.leave())
    await settle()
    assert not leaving.done()
    await first.advance(1)
    assert await leaving == 0
    assert first.acts.done("pass_leave") == 1


@run
async def test_a_seat_kept_for_a_newcomer_elsewhere_is_given_up_soon_after_the_newcomer_is_gone():
    first, second = gateways()
    _, _, joining = await kept_for_one_elsewhere(first, second)
    await first.advance(4)  # the other gateway is paused
    assert (first.acts.done("keep"), first.acts.done("give_up")) == (1, 0)
    await first.advance(1)
    assert first.acts.done("give_up") == 1
    joining.cancel()


@run
async def test_a_stopping_gateway_withdraws_its_newcomers():
    first, second = gateways()
    await member(first, second)
    _, joining = await waiting(second)
    await second.advance(1)
    (lock,) = first.coordinator.helper.described(first.clock.monotonic())
    assert (lock.instance_id.startswith("rebalance-agent-waiting-"), lock.released) == (True, False)
    await second.seats.switch_off()
    await settle()
    (lock,) = first.coordinator.helper.described(first.clock.monotonic())
    assert lock.released
    joining.cancel()


@run
async def test_without_newcomers_and_vacant_seats_no_request_is_sent():
    first, second = gateways()
    old = await member(first, second)
    first.coordinator.lock_frames.clear()
    first.coordinator.came.clear()
    await second.advance(30)
    assert await old.heartbeat() == 0
    assert (first.coordinator.lock_frames, len(first.coordinator.came)) == ([], 1)
