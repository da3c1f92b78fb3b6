"""The gateway's group code frame by frame before a real coordinator, which accepts every version of its requests."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from confluent_kafka import TopicPartition
from kafka.protocol.consumer.group import JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription
from rebalance_agent.model.events import Callback
from rebalance_agent.model.partitions import count_partitions
from support.gateway.groups import Client, Gateway, Line, RealBroker
from support.observer.observing import commit, create_topic

pytestmark = pytest.mark.integration

TOPIC = "frame-by-frame"
REBALANCE_IN_PROGRESS = 27
NUMBER = itertools.count(1)
VERSIONS = [(2, 0), (3, 1), (4, 2), (5, 3), (6, 4), (7, 5), (8, 5), (9, 5)]
"""Versions of JoinGroup and SyncGroup: all that brokers since 4.0 accept (KIP-896)."""


@pytest.fixture(scope="module")
def address(kafka):
    create_topic(kafka.bootstrap_servers, TOPIC, 16)
    commit(kafka.bootstrap_servers, "whose coordinator is there", [TopicPartition(TOPIC, 0, 0)])
    return kafka.bootstrap_servers


@pytest.fixture
def group():
    return f"frames-{next(NUMBER)}"


async def behind(address, group, weight, **options):
    """A client behind its own gateway."""
    gateway = Gateway(f"{group}=weighted-sticky,assignment.consumer.weight={weight}")
    one = Client(Line(gateway, await RealBroker.at(address)), group=group, topics=(TOPIC,), **options)
    one.gateway = gateway
    return one


async def rebalance(*clients):
    await asyncio.gather(*(each.join() for each in clients))
    answers = await asyncio.gather(*(each.sync() for each in clients))
    return [each.error_code for each in answers]


@pytest.mark.parametrize(("join", "sync"), VERSIONS)
def test_a_coordinator_accepts_the_gateways_frames_in_every_version(address, group, join, sync):
    async def go():
        versions = {"join_version": join, "sync_version": sync, "subscription_version": min(join - 2, 3)}
        one = await behind(address, group, 300, **versions)
        other = await behind(address, group, 100, **versions)
        assert await rebalance(one) == [0]
        joining = asyncio.create_task(other.join())
        while (await one.heartbeat()).error_code != REBALANCE_IN_PROGRESS:
            assert not joining.done()
        await asyncio.gather(one.join(), joining)
        await asyncio.gather(one.sync(), other.sync())
        for each in (one, other):
            await each.line.broker.close()
        return count_partitions(one.owned), count_partitions(other.owned)

    assert asyncio.run(asyncio.wait_for(go(), 60)) == (12, 4)


def test_a_returning_static_leader_skips_the_assignment(address, group):
    async def go():
        one = await behind(address, group, 300, instance_id="static-1")
        assert await rebalance(one) == [0]
        before, again = dict(one.owned), Client(one.line, group=group, topics=(TOPIC,), instance_id="static-1")
        assert await rebalance(again) == [0]
        await one.line.broker.close()
        return one, again, before

    one, again, before = asyncio.run(asyncio.wait_for(go(), 60))
    assert again.joined.skip_assignment
    assert (again.generation, again.owned) == (one.generation, before)
    assert [each for each in one.line.sent if isinstance(each, SyncGroupRequest)][-1].assignments == []
    said = [each for each in one.line.sent if isinstance(each, JoinGroupRequest)][-1].protocols[0]
    assert decode_subscription(bytes(said.metadata)).owned_partitions == before
    assert one.gateway.outcomes.count(FrameOutcome.ASSIGNED) == 1


async def taken_by_another(address, one):
    """Another process of the same static member, behind another gateway."""
    other = await behind(address, one.group, 300, instance_id=one.instance_id)
    assert await rebalance(other) == [0]
    await other.line.broker.close()


async def expelled(address, one):
    """As by an administrator, or at the end of its session."""
    kind, broker = LeaveGroupRequest.MemberIdentity, await RealBroker.at(address)
    gone = kind(version=5, member_id=one.member_id, group_instance_id=one.instance_id, reason="expelled")
    await broker(LeaveGroupRequest(version=5, group_id=one.group, members=[gone]))
    await broker.close()


@pytest.mark.parametrize(
    ("how", "error_code", "reason"),
    [(taken_by_another, 82, "FENCED_INSTANCE_ID"), (expelled, 25, "UNKNOWN_MEMBER_ID")],
)
def test_a_member_that_the_coordinator_expelled_is_reported_as_lost(address, group, how, error_code, reason):
    async def go():
        one = await behind(address, group, 300, instance_id="static-1")
        assert await rebalance(one) == [0]
        await how(address, one)
        refused = (await one.heartbeat()).error_code
        await one.line.broker.close()
        return refused, one.gateway.reported(Callback.LOST), one.owned

    refused, (lost,), owned = asyncio.run(asyncio.wait_for(go(), 60))
    assert refused == error_code
    assert (lost.reason, lost.partitions) == (f"{reason} in the response to Heartbeat", owned)


class Silent(Line):
    """The broker does not respond to the metadata request."""

    async def ask(self, message):
        await asyncio.Event().wait()


def test_a_late_assignor_costs_the_group_only_its_strategy(address, group):
    async def go():
        gateway = Gateway(f"{group}=weighted-sticky", assign_seconds=0.01)
        one = Client(Silent(gateway, await RealBroker.at(address)), group=group, topics=(TOPIC,))
        await one.join()
        answer = await one.sync({one.member_id: {TOPIC: (5, 6)}})
        await one.line.broker.close()
        return (answer.error_code, answer.protocol_name, one.owned), gateway.outcomes[-1]

    assert asyncio.run(asyncio.wait_for(go(), 60)) == ((0, "range", {TOPIC: (5, 6)}), FrameOutcome.ASSIGN_LATE)


def test_a_sync_with_the_wrong_name_is_refused_and_the_client_must_rejoin(address, group):
    async def go():
        one = await behind(address, group, 300)
        await one.join()
        fresh = Gateway(f"{group}=weighted-sticky")
        one.line = Line(fresh, one.line.broker)
        refused = (await one.sync()).error_code
        after = await rebalance(one)
        await one.line.broker.close()
        return refused, after, count_partitions(one.owned)

    assert asyncio.run(asyncio.wait_for(go(), 60)) == (27, [0], 16)
