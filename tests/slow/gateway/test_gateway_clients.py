"""Clients of other languages and Kafka Streams through gateways, with three brokers, one of which stops."""

from __future__ import annotations

import contextlib
import os
import uuid

import pytest
from confluent_kafka import Consumer, Producer

from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.model.events import Callback
from rebalance_agent.testing import EmbeddedKafka
from support.gateway.gateway_members import LONG_S, described, joining, read_by, read_everything, shares, weighted
from support.gateway.running import gateway
from support.members.go_programs import go_program
from support.members.member_lines import GO_MEMBER, LibrdkafkaMember, go_member, java_member, kafkajs_member
from support.members.threads import Load
from support.observer.observing import create_topic, eventually
from support.scenarios.start_member import STREAMS_INPUT, STREAMS_OUTPUT, start_member

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTITIONS = 16


@pytest.fixture(scope="module")
def three():
    properties = {"min.insync.replicas": "2", "offsets.topic.replication.factor": "3"}
    with EmbeddedKafka(brokers=3, properties=properties) as kafka:
        yield kafka


@pytest.fixture
def topic(three):
    name = f"clients-{uuid.uuid4().hex[:8]}"
    create_topic(three.bootstrap_servers, name, PARTITIONS, 3)
    return name


@pytest.fixture
def joined():
    with joining() as join:
        yield join


@pytest.mark.parametrize("end", ["stop_broker", "kill_broker"])
def test_javas_and_librdkafkas_consumers_keep_their_shares_when_their_coordinator_ends(three, topic, joined, end):
    group = f"group-of-{topic}"
    with (
        weighted(three, group, "weighted-sticky", 300) as heavy,
        weighted(three, group, "weighted-sticky", 100) as light,
        Load(three, topic, PARTITIONS) as load,
    ):
        java = joined(java_member, heavy.bootstrap, group, topic, "java")
        other = joined(LibrdkafkaMember, light.bootstrap, group, topic, "other")
        eventually(
            lambda: shares(java, other) == [12, 4], LONG_S, waiting_for=(heavy.outcomes, light.outcomes, java.errors)
        )
        assert described(three, group).partition_assignor == "weighted-sticky"
        stopped = described(three, group).coordinator.id
        getattr(three, end)(stopped)
        before = len(read_by(java, other))

        def moved():
            now = described(three, group)
            return now and now.coordinator.id != stopped and now.state.name == "STABLE"

        eventually(moved, LONG_S)
        eventually(lambda: len(read_by(java, other)) > before + 500, LONG_S)
        third = joined(LibrdkafkaMember, light.bootstrap, group, topic, "third")
        eventually(lambda: sorted(shares(java, other, third)) == [3, 3, 10], LONG_S, waiting_for=heavy.outcomes)
        third.close()
        eventually(lambda: shares(java, other) == [12, 4], LONG_S, waiting_for=(heavy.outcomes, light.outcomes))
        assert described(three, group).partition_assignor == "weighted-sticky"
        three.start_broker(stopped)
        read_everything(load, java, other, third)
        assert set(heavy.outcomes + light.outcomes) == {
            FrameOutcome.OFFERED,
            FrameOutcome.CHOSEN,
            FrameOutcome.ASSIGNED,
        }
        other.close()
        java.close()


@pytest.mark.parametrize(
    ("own", "strategy"),
    [("range", "weighted-sticky"), ("cooperative-sticky", "cooperative-weighted-sticky")],
)
def test_a_go_client_gets_what_the_weights_promise(three, topic, joined, own, strategy):
    if go_program(GO_MEMBER) is None:
        assert os.environ.get("CI") != "true", "Go is missing"
        pytest.skip("no go on the PATH")
    group = f"group-of-{topic}"
    with (
        weighted(three, group, strategy, 300) as heavy,
        weighted(three, group, strategy, 100) as light,
        Load(three, topic, PARTITIONS) as load,
    ):
        one = joined(go_member, heavy.bootstrap, group, topic, "one", own)
        other = joined(go_member, light.bootstrap, group, topic, "other", own)
        eventually(lambda: shares(one, other) == [12, 4], waiting_for=(heavy.outcomes, light.outcomes, one.errors))
        assert described(three, group).partition_assignor == strategy
        third = joined(LibrdkafkaMember, light.bootstrap, group, topic, "third", own)
        eventually(
            lambda: sorted(shares(one, other, third)) == [3, 3, 10], waiting_for=(heavy.outcomes, light.outcomes)
        )
        one.close()
        eventually(lambda: shares(other, third) == [8, 8], waiting_for=(heavy.outcomes, light.outcomes))
        read_everything(load, one, other, third)
        other.close()
        third.close()
        assert set(heavy.outcomes + light.outcomes) == {
            FrameOutcome.OFFERED,
            FrameOutcome.CHOSEN,
            FrameOutcome.ASSIGNED,
        }


def test_kafkajs_gets_its_share_by_weight_with_its_own_assignor(three, topic, joined):
    group = f"group-of-{topic}"
    with (
        weighted(three, group, "weighted-sticky", 300) as heavy,
        weighted(three, group, "weighted-sticky", 100) as light,
        Load(three, topic, PARTITIONS) as load,
    ):
        one = joined(kafkajs_member, heavy.bootstrap, group, topic, "one")
        eventually(lambda: shares(one) == [16], LONG_S, waiting_for=(heavy.outcomes, one.errors))
        other = joined(LibrdkafkaMember, light.bootstrap, group, topic, "other")
        eventually(
            lambda: shares(one, other) == [12, 4], LONG_S, waiting_for=(heavy.outcomes, light.outcomes, one.errors)
        )
        third = joined(kafkajs_member, light.bootstrap, group, topic, "third")
        whole = [3, 3, 10]
        eventually(
            lambda: sorted(shares(one, other, third)) == whole, LONG_S, waiting_for=(heavy.outcomes, third.errors)
        )
        assert described(three, group).partition_assignor == "weighted-sticky"
        one.close()
        eventually(lambda: shares(other, third) == [8, 8], LONG_S, waiting_for=(heavy.outcomes, light.outcomes))
        read_everything(load, one, other, third)
        other.close()
        third.close()
        assert set(heavy.outcomes + light.outcomes) == {
            FrameOutcome.OFFERED,
            FrameOutcome.CHOSEN,
            FrameOutcome.ASSIGNED,
        }


@pytest.fixture(scope="module")
def word_topics(three):
    create_topic(three.bootstrap_servers, STREAMS_INPUT, 4, 3)
    create_topic(three.bootstrap_servers, STREAMS_OUTPUT, 1, 3)


def counted(consumer, counts):
    """Add the word count's output to ``counts``; return ``counts``, for conditions."""
    for message in consumer.consume(1_000, 0.2):
        if not message.error():
            counts[message.key().decode()] = int.from_bytes(message.value(), "big")
    return counts


@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_kafka_streams_counts_words_as_without_a_gateway(three, word_topics, tmp_path, protocol):
    group, words = f"words-{uuid.uuid4().hex[:8]}", [f"{protocol}{number}" for number in range(20)]
    with gateway(three.bootstrap_servers, ".*=weighted-sticky") as through, contextlib.ExitStack() as stack:

        def start(name):
            settings = {"group.protocol": protocol, "processing.guarantee": "exactly_once_v2"}
            settings["auto.offset.reset"] = "earliest"
            if protocol == "classic":
                settings["session.timeout.ms"] = "10000"  # its members send no LeaveGroup; they are removed later
            config = {"client": "streams", "group": group, "name": name, "bootstrap": through.bootstrap}
            member = start_member(three, {**config, "directory": tmp_path, "settings": settings})
            stack.callback(member.close)
            return member

        producer = Producer({"bootstrap.servers": through.bootstrap, "log_level": 0})
        results = Consumer(
            {
                "bootstrap.servers": three.bootstrap_servers,  # otherwise its group would get our strategy
                "group.id": f"results-of-{group}",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        stack.callback(results.close)
        results.subscribe([STREAMS_OUTPUT])
        counts = {}

        def say(times):
            for number in range(times):
                producer.produce(STREAMS_INPUT, " ".join(words).encode(), partition=number % 4)
            assert producer.flush(LONG_S) == 0

        def all_are(number):
            return lambda: {counted(results, counts).get(word) for word in words} == {number}

        first = start("first")
        say(8)
        eventually(all_are(8), LONG_S, waiting_for=counts)
        second = start("second")
        say(8)
        eventually(all_are(16), LONG_S, waiting_for=counts)
        if protocol == "classic":
            eventually(lambda: len(described(three, group).members) == 2, LONG_S)
            assert described(three, group).partition_assignor == "stream"
        first.close()
        say(8)
        eventually(all_are(24), LONG_S, waiting_for=counts)
        second.close()
    assert set(through.outcomes) <= {FrameOutcome.FOREIGN}
    assert bool(through.outcomes) == bool(through.reported(Callback.ASSIGNED)) == (protocol == "classic")
