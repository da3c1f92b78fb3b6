"""Strategies of other packages in consumers on a real broker: by name, and never with a wrong assignment."""

from __future__ import annotations

import asyncio
import re

import pytest
from aiokafka.errors import KafkaError

from rebalance_agent.assignors import STRATEGIES, Strategy
from rebalance_agent.clients.aiokafka import AIOKafkaConsumer
from rebalance_agent.clients.confluent_assignors import Consumer
from rebalance_agent.errors import StrategyFailedError
from rebalance_agent.model.group import RebalanceProtocol
from support.assignors.plugin_site import Entry, declared
from support.members.threads import Crew, create_topic, until

pytestmark = pytest.mark.integration

PARTITIONS = 6
PROBLEM = r"strategy 'lossy' of acme 1.0: plan violates its contract: partition 0 of topic '[\w-]+' has no owner"


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    def own(name, plan):
        return Strategy(name, RebalanceProtocol.EAGER, "for tests", plan, cooperative_form=True)

    lossy = own("lossy", lambda roster: roster.empty_plan())
    declared(monkeypatch, Entry("own", own("own", STRATEGIES["sticky"].plan)), Entry("lossy", lossy))


@pytest.fixture
def topic(kafka):
    return create_topic(kafka, PARTITIONS)


@pytest.mark.parametrize("name", ["own", "cooperative-own"])
def test_members_get_the_assignment_of_the_named_strategy(kafka, topic, name):
    with Crew(kafka) as crew:
        members = [crew.join(topic, partition_assignment_strategy=name) for _ in range(2)]
        until(lambda: crew.settled and crew.sizes == [3, 3])
        assert not members[0].owned & members[1].owned


def test_kafka_pythons_poll_raises_the_reason_before_any_member_gets_partitions(kafka, topic):
    with Crew(kafka) as crew:
        member = crew.join(topic, partition_assignment_strategy="cooperative-lossy")
        until(lambda: member.error is not None)
        crew.members.remove(member)
        assert member.owned == set()
        member.consumer.close()
    with pytest.raises(StrategyFailedError, match=PROBLEM):
        raise member.error


def test_aiokafkas_start_raises_the_reason(kafka, topic):
    async def scenario():
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=kafka.bootstrap_servers,
            group_id=f"{topic}-group",
            partition_assignment_strategy="lossy",
            events_url="",
        )
        try:
            with pytest.raises(KafkaError, match=PROBLEM):
                await asyncio.wait_for(consumer.start(), 60)
            assert consumer.assignment() == set()
        finally:
            await consumer.stop()

    asyncio.run(scenario())


def test_confluents_poll_returns_an_error_with_the_reason(kafka, topic):
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": f"{topic}-group",
        "partition.assignment.strategy": "lossy",
    }
    with Consumer(config, events_url="") as consumer:
        consumer.subscribe([topic])

        errors = []

        def polled():
            message = consumer.poll(0.05)
            errors.extend([message.error().str()] if message is not None else [])
            return errors

        until(polled)
        assert re.search(PROBLEM, errors[0])
        assert consumer.assignment() == []
