"""When a gateway says that the consumers beside it are ready: with an assignment, idle, or held for a seat."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.connection_readiness import HELD_SECONDS, ConnectionReadiness
from rebalance_agent.http.latched_readiness import LatchedReadiness
from support.gateway.groups import Gateway
from support.gateway.seat_clients import NOBODY, SeatClient, SeatGateway
from support.seats.frame_steps import member, run, waiting
from unit.gateway.test_group_epochs import Member, parts

ALONE = ["", "orders=on", "orders=observe"]


def afresh(gateway):
    """The gateway is started anew: what it said before is over, its consumers go on."""
    gateway.readiness = gateway.groups.readiness = LatchedReadiness(gateway.clock, NOBODY)


@pytest.mark.parametrize("seats", ALONE)
def test_a_consumer_is_ready_when_it_has_its_assignment(seats):
    @run
    async def ready():
        gateway = SeatGateway(seats)
        assert gateway.readiness.reason() == NOBODY
        one = SeatClient(gateway, "app-1")
        await one.join()
        assert gateway.readiness.reason() == "consumer 'app-1' of group 'orders' waits for its assignment"
        await one.sync()
        assert gateway.readiness.reason() == ""

    ready()


@run
async def test_a_consumer_whose_join_is_not_answered_waits():
    gateway = SeatGateway("")
    await SeatClient(gateway, "one").enter()
    afresh(gateway)
    two = SeatClient(gateway, "two")
    joining = asyncio.create_task(two.enter())
    await gateway.advance(1)
    assert gateway.readiness.reason() == "consumer 'two' of group 'orders' waits for the response to its JoinGroup"
    joining.cancel()
    two.closed = True
    two.talk.closed()
    assert gateway.readiness.reason() == NOBODY, "it is gone, and the other has sent nothing since"


@run
async def test_a_refused_join_makes_nobody_ready():
    gateway = SeatGateway("")
    one = SeatClient(gateway, "app")
    gateway.coordinator.errors[HeartbeatRequest] = 25
    one.member_id, one.generation = "m", 1
    assert await one.heartbeat() == 25
    assert gateway.readiness.reason() == NOBODY


@run
async def test_after_a_restart_of_the_gateway_the_next_heartbeat_shows_that_its_consumer_is_ready():
    gateway = SeatGateway("")
    one = await member(gateway)
    started = SeatGateway("", beside=gateway)
    again = SeatClient(started, "old")
    again.member_id, again.generation = one.member_id, one.generation
    assert started.readiness.reason() == NOBODY
    assert await again.heartbeat() == 0
    assert started.readiness.reason() == ""


@run
async def test_a_newcomer_that_is_held_for_a_seat_is_ready_so_that_its_predecessor_may_end():
    gateway = SeatGateway()
    old = await member(gateway)
    afresh(gateway)
    _, entering = await waiting(gateway)
    waits = "consumer 'new' of group 'orders' waits for the response to its JoinGroup"
    assert gateway.readiness.reason() == waits, "it may be sent at once"
    await gateway.advance(HELD_SECONDS)
    assert gateway.readiness.reason() == ""
    await old.leave()
    await entering


@run
async def test_it_stays_ready_when_the_group_rebalances():
    gateway = SeatGateway("")
    one = await member(gateway)
    gateway.coordinator.errors[HeartbeatRequest] = 27
    assert await one.heartbeat() == 27
    joining = asyncio.create_task(SeatClient(gateway, "new").join())
    await gateway.advance(1)
    assert gateway.readiness.reason() == ""
    joining.cancel()


@run
async def test_once_ready_no_answer_is_read_for_it_any_more():
    gateway = SeatGateway("")
    one = await member(gateway)
    readiness = ConnectionReadiness(gateway.readiness)
    for kind in (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest):
        assert not readiness.request(kind.API_KEY, None, b"")
        readiness.response(kind.API_KEY, None)
    assert one.joined.error_code == 0


def test_a_consumer_of_kip_848_is_ready_with_its_first_assignment_which_may_be_empty():
    readiness = LatchedReadiness(FakeClock(), NOBODY)
    one = Member(Gateway(readiness=readiness))
    head = one.send(0)
    assert readiness.reason() == "consumer 'app' of group 'g' waits for its assignment"
    one.answer(head, {"member_epoch": 0, "error_code": 14})
    assert not readiness.latched
    one.beat(0, {"member_epoch": 3, "assignment": {"topic_partitions": parts()}})
    assert readiness.reason() == ""


def test_a_consumer_of_kip_848_that_leaves_is_not_waited_for():
    readiness = LatchedReadiness(FakeClock(), NOBODY)
    one = Member(Gateway(readiness=readiness))
    one.send(0)
    one.beat(-1, {"member_epoch": -1})
    assert readiness.reason() == NOBODY
