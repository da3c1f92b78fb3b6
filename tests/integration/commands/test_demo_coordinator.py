"""The demo's comparison with a real broker's coordinator, and that it detects differences."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.demo.observed.coordinator_state import ONE_OFFSETS_PARTITION, ask
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
def words(broker):
    """The words on a group of one member with three partitions, which has committed offsets, too."""
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
        return ask(broker, ["g"])["g"]
    finally:
        consumer.close()


def event(words, *partitions, **changes):
    """The event of someone who knows exactly what the coordinator knows, but for ``changes``."""
    (member,) = words.clients
    members = (snapshot(member, "one", *(partitions or (0, 1, 2))),)
    return generation_event(**{"generation": words.generation, "members": members, **changes})


GAUGES = GroupGauges(generation=1, members=1, owned={"one": 3})


def test_the_words_show_generation_protocol_members_and_assignment(words):
    (member,) = words.clients
    assert words.generation == 1
    assert words.protocol == words.described_protocol == "range"
    assert words.clients == {member: "one"}
    assert words.assignment == {member: {"t": (0, 1, 2)}}
    assert group_differences(event(words), GAUGES, words) == []


def test_a_corrupted_generation_is_seen(words):
    assert group_differences(event(words, generation=2), GAUGES, words) != []


def test_a_corrupted_partition_is_seen(words):
    assert group_differences(event(words, 0, 1), GAUGES, words) != []


def test_a_group_that_does_not_exist_has_nothing(broker):
    absent = ask(broker, ["absent"])["absent"]
    assert (absent.generation, absent.state, absent.clients, absent.assignment) == (None, "Dead", {}, {})
