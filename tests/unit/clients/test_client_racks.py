"""A consumer's rack, from its configuration to the leader's input."""

from __future__ import annotations

import asyncio
import inspect
import socket
from functools import partial

import aiokafka
import pytest

from rebalance_agent.clients.aiokafka import AIOKafkaConsumer
from rebalance_agent.clients.confluent_assignors import Consumer
from rebalance_agent.clients.confluent_assignors import consumer as confluent
from rebalance_agent.clients.confluent_assignors.member.group_member import MemberConsumer
from rebalance_agent.clients.kafka_python import KafkaConsumer
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription

VERSION = (3, 0)
"""API versions of a broker, so that kafka-python does not request them."""


@pytest.fixture
def silent():
    """The address of a server that accepts connections and never responds: kafka-python discards refused sockets."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def racks(protocols):
    return {name: decode_subscription(data).rack_id for name, data in protocols}


def test_kafka_pythons_client_rack_is_in_the_subscription(silent):
    consumer = KafkaConsumer(
        "t",
        bootstrap_servers=silent,
        api_version=VERSION,
        group_id="g",
        client_rack="r7",
        partition_assignment_strategy=["rack-aware-sticky", "sticky"],
        events_url="",
    )
    try:
        assert racks(consumer._coordinator.group_protocols()) == {"rack-aware-sticky": "r7", "sticky": "r7"}
    finally:
        consumer.close()


@pytest.mark.skipif(
    "client_rack" not in inspect.signature(aiokafka.AIOKafkaConsumer).parameters, reason="aiokafka has it from 0.14 on"
)
def test_aiokafkas_client_rack_is_in_the_subscription(silent):
    async def scenario():
        consumer = AIOKafkaConsumer(
            bootstrap_servers=silent,
            group_id="g",
            client_rack="r7",
            partition_assignment_strategy=["rack-aware-sticky", "sticky"],
            events_url="",
        )
        try:
            # aiokafka passes this to its coordinator at start, which requests it during a join.
            return racks((each.name, each.metadata(["t"])) for each in consumer._partition_assignment_strategy)
        finally:
            await consumer.stop()

    assert asyncio.run(scenario()) == {"rack-aware-sticky": "r7", "sticky": "r7"}


def test_confluents_client_rack_is_in_the_members_subscription(monkeypatch, silent):
    monkeypatch.setattr(confluent, "MemberConsumer", partial(MemberConsumer, api_version=VERSION))
    consumer = Consumer(
        {
            "bootstrap.servers": silent,
            "group.id": "g",
            "client.rack": "r7",
            "partition.assignment.strategy": "rack-aware-sticky,sticky",
            "log_level": 0,
        },
        events_url="",
    )
    try:
        member = consumer._membership.connect()
        try:
            member.follow(["t"])
            assert racks(member._coordinator.group_protocols()) == {"rack-aware-sticky": "r7", "sticky": "r7"}
        finally:
            member.close()
    finally:
        consumer.close()
