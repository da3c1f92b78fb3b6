"""A gateway publishes the generations that a consumer behind it leads, as its frames contain them."""

from __future__ import annotations

import asyncio

from kafka.protocol.consumer.group import SyncGroupRequest

from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription
from rebalance_agent.groupprotocol.wire.error_codes import REBALANCE_IN_PROGRESS
from rebalance_agent.instrumentation.led_members import LED_BYTES_MAX
from rebalance_agent.model.event_json import event_from_json, event_to_json
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from support.gateway.coordinator import ToyCoordinator
from support.gateway.groups import Client, Gateway, Line


class Group:
    """Clients of one group behind one gateway."""

    def __init__(self, members, *, rules="", generations=True):
        self.gateway = Gateway(rules, generations=generations)
        self.broker = ToyCoordinator(members)
        self.clients = [Client(Line(self.gateway, self.broker)) for _ in range(members)]

    async def join(self):
        await asyncio.gather(*(client.join() for client in self.clients))
        return next(client for client in self.clients if client.member_id == client.joined.leader)

    @property
    def led(self):
        return [event for event in self.gateway.events if isinstance(event, LedGenerationEvent)]


def test_the_event_has_all_members_with_subscriptions_and_assignments():
    async def run():
        group = Group(2)
        leader = await group.join()
        joined_ms = group.gateway.clock.now_ms()
        group.gateway.clock.advance(250)
        ids = sorted(client.member_id for client in group.clients)
        given = {name: {"t": (number,)} for number, name in enumerate(ids)}
        await asyncio.gather(*(client.sync(given if client is leader else {}) for client in group.clients))
        (event,) = group.led
        assert (event.generation, event.leader, event.assignor) == (leader.generation, leader.member_id, "range")
        assert (event.joined_ms, event.timestamp_ms) == (joined_ms, joined_ms + 250)
        assert (event.session_timeout_ms, event.rebalance_timeout_ms) == (10_000, 60_000)
        assigned = {each.member_id: decode_assignment(each.assignment).partitions for each in event.members}
        assert assigned == given
        assert {decode_subscription(each.subscription).topics for each in event.members} == {("t",)}
        assert event_from_json(event_to_json(event)) == event

    asyncio.run(run())


def test_with_our_strategy_the_event_has_what_the_coordinator_got():
    async def run():
        group = Group(1, rules="orders=sticky")
        leader = await group.join()
        await leader.sync()
        (event,) = group.led
        assert event.assignor == "sticky"
        (member,) = event.members
        assert member.assignment == bytes(group.clients[0].line.sent[-1].assignments[0].assignment)

    asyncio.run(run())


def test_a_generation_is_published_once_and_only_after_the_coordinator_accepted_it():
    async def run():
        group = Group(1)
        leader = await group.join()
        group.broker.errors[SyncGroupRequest] = REBALANCE_IN_PROGRESS
        await leader.sync()
        assert group.led == []
        del group.broker.errors[SyncGroupRequest]
        await leader.sync()
        await leader.sync()
        assert len(group.led) == 1

    asyncio.run(run())


def test_a_follower_publishes_nothing():
    async def run():
        group = Group(2)
        leader = await group.join()
        (follower,) = (client for client in group.clients if client is not leader)
        await asyncio.gather(leader.sync(), follower.sync({}))
        assert [event.leader for event in group.led] == [leader.member_id]

    asyncio.run(run())


def test_nothing_is_published_by_default_nor_a_generation_that_no_record_can_hold():
    async def run():
        group = Group(1, generations=False)
        await (await group.join()).sync()
        assert group.led == []
        large = Group(1)
        leader = await large.join()
        await leader.sync(
            {leader.member_id: {"t" * 1_000 + str(number): (0,) for number in range(LED_BYTES_MAX // 1_000)}}
        )
        assert large.led == []

    asyncio.run(run())
