"""The demo's comparison with a real broker's coordinator, and that it detects differences."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.demo.observed.coordinator_state import ONE_OFFSETS_PARTITION, read_coordinator
from rebalance_agent.demo.observed.differences import group_differences
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.testing import EmbeddedKafka
from support.observer.demo_events import generation_event, snapshot

pytestmark = pytest.mark.integration

POLLS_MAX = 300


@pytest.fixture(scope="module")
def broker():
    with EmbeddedKafka(properties=ONE_OFFSETS_PARTITION) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def coordinator(broker):
    """The coordinator's state of a group with committed offsets and one member with three partitions."""
    bootstrap = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    admin = AdminClient(bootstrap)
    admin.create_topics([NewTopic("t", 3)])["t"].result(30)
    consumer = Consumer({**bootstrap, "group.id": "g", "client.id": "one", "partition.assignment.strategy": "range"})
    try:
        consumer.subscribe(["t"])
        for _ in range(POLLS_MAX):
            consumer.poll(0.1)
            if len(consumer.assignment()) == 3:
                break
        return read_coordinator(broker, ["g"])["g"]
    finally:
        consumer.close()


def event(coordinator, *partitions, **changes):
    """The event that equals the coordinator's state, except for ``changes``."""
    (member,) = coordinator.clients
    members = (snapshot(member, "one", *(partitions or (0, 1, 2))),)
    return generation_event(**{"generation": coordinator.generation, "members": members, **changes})


GAUGES = GroupGauges(generation=1, members=1, owned={"one": 3})


def test_the_coordinators_state_has_generation_protocol_members_and_assignment(coordinator):
    (member,) = coordinator.clients
    assert coordinator.generation == 1
    assert coordinator.protocol == coordinator.described_protocol == "range"
    assert coordinator.clients == {member: "one"}
    assert coordinator.assignment == {member: {"t": (0, 1, 2)}}
    assert group_differences(event(coordinator), GAUGES, coordinator) == []


def test_a_wrong_generation_is_a_difference(coordinator):
    assert group_differences(event(coordinator, generation=2), GAUGES, coordinator) != []


def test_a_missing_partition_is_a_difference(coordinator):
    assert group_differences(event(coordinator, 0, 1), GAUGES, coordinator) != []


def test_a_group_that_does_not_exist_is_dead_and_empty(broker):
    absent = read_coordinator(broker, ["absent"])["absent"]
    assert (absent.generation, absent.state, absent.clients, absent.assignment) == (None, "Dead", {}, {})
