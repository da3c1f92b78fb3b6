"""The observer on the session's broker: its data compared with the topic's contents."""

from __future__ import annotations

import itertools
import threading
import uuid
from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from support.observer.observing import create_topic, events, eventually, everything, members, observing

pytestmark = pytest.mark.integration


@pytest.fixture
def names():
    """A topic, a group and a topic of events for this test only."""
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"group-{unique}", f"events-{unique}"


def _generations(bootstrap, group):
    """Generations with members in the offsets topic, in order, each once (a static member's return writes it twice)."""
    records = [
        (message.timestamp()[1], decode_record(message.key(), message.value()))
        for message in everything(bootstrap, "__consumer_offsets")
        if record_kind(message.key()) == "group_metadata" and message.value() is not None
    ]
    numbers = (each.value["generation"] for _, each in records if each.group == group and each.value["members"])
    return [number for number, _ in itertools.groupby(numbers)]


def _published(bootstrap, topic, group):
    return [each["generation"] for each in events(bootstrap, topic, group=group) if each["kind"] == "generation"]


def _all_published(bootstrap, topic, group):
    """Wait until exactly the generations in the offsets topic have an event; return them."""

    compared = []

    def agree():
        compared[:] = [_generations(bootstrap, group), _published(bootstrap, topic, group)]
        return compared[0] == compared[1]

    eventually(agree, waiting_for=compared)
    return compared[0]


@pytest.mark.end_to_end
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_every_generation_of_a_confluent_group_becomes_an_event_and_the_last_one_a_metric(kafka, names, strategy):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 6)
    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched:
        shown = lambda: watched.metric("kafka_rebalance_members", consumergroup=group)  # noqa: E731
        settings = {"partition.assignment.strategy": strategy}
        with members(bootstrap, group, topic, 1, **settings):
            eventually(lambda: shown() == 1)
            with members(bootstrap, group, topic, 2, **settings):
                eventually(lambda: shown() == 3)
                eventually(lambda: watched.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
            eventually(lambda: shown() == 1)
            generations = _all_published(bootstrap, published, group)
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == generations[-1])
            completed = [
                value
                for name, value in watched.metrics().items()
                if name.startswith(f'kafka_rebalance_completed_total{{consumergroup="{group}"')
            ]
            assert sum(completed) >= 3
        eventually(lambda: watched.metric("kafka_rebalance_group_state", consumergroup=group, state="Empty") == 1)


@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")
def test_every_generation_of_a_kafka_python_group_becomes_an_event(kafka, names):
    from kafka import KafkaConsumer  # noqa: PLC0415 - its import warns

    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    consumers = [
        KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, heartbeat_interval_ms=200) for _ in range(2)
    ]
    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched:
        shown = lambda: watched.metric("kafka_rebalance_members", consumergroup=group)  # noqa: E731
        eventually(lambda: shown() == 1, between=lambda: consumers[0].poll(50))
        eventually(lambda: shown() == 2, between=lambda: [each.poll(50) for each in consumers])
        consumers[1].close()
        eventually(lambda: shown() == 1, between=lambda: consumers[0].poll(50))
        assert len(_all_published(bootstrap, published, group)) >= 3
        consumers[0].close()


@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")
def test_a_generation_without_its_leaders_assignment_is_aborted_and_no_rebalance(kafka, names):
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415 - its import warns

    from support.members.threads import KafkaConsumer, Member  # noqa: PLC0415

    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 6)
    asked, released = threading.Event(), threading.Event()

    class Held(RangePartitionAssignor):
        """Kafka's range, which blocks for two members."""

        def assign(self, cluster, members):
            if len(members) == 2:
                asked.set()
                assert released.wait(60)
            return super().assign(cluster, members)

    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched, ExitStack() as stack:
        stack.callback(released.set)
        is_in = lambda state: watched.metric("kafka_rebalance_group_state", consumergroup=group, state=state)  # noqa: E731
        leader = Member(
            KafkaConsumer(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                heartbeat_interval_ms=200,
                partition_assignment_strategy=[Held],
            )
        )
        stack.callback(leader.close)
        eventually(lambda: _published(bootstrap, published, group))
        stack.enter_context(members(bootstrap, group, topic, 1))
        eventually(asked.is_set)
        eventually(lambda: is_in("CompletingRebalance"))
        stack.enter_context(members(bootstrap, group, topic, 1))
        eventually(lambda: is_in("PreparingRebalance"))
        released.set()
        eventually(lambda: _generations(bootstrap, group)[-1] > 1)
        assert _all_published(bootstrap, published, group) == [1, 3]
        found = [each for each in events(bootstrap, published, group=group) if each["kind"] != "generation"]
        assert [(each["kind"], each["generation"]) for each in found] == [("aborted", 2)]
        failed = {"consumergroup": group, "reason": "aborted"}
        assert watched.metric("kafka_rebalance_failed_total", **failed) == 1
        joined = {"consumergroup": group, "trigger": "member_joined"}
        eventually(lambda: watched.metric("kafka_rebalance_completed_total", **joined) == 1)


def test_a_group_older_than_the_observer_is_shown_exactly_without_events_for_old_rebalances(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 2)
    with members(bootstrap, group, topic, 1):
        eventually(lambda: _generations(bootstrap, group))
        with observing(bootstrap, events_topic=published) as watched:
            expected = _generations(bootstrap, group)[-1]
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == expected)
            assert watched.metric("rebalance_agent_events_published_total", kind="generation", sink="kafka") == 0


def test_an_open_transaction_does_not_hide_another_groups_generation(kafka, names):
    """Both groups' records lie in the same partition of the offsets topic; librdkafka's default would wait."""
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 1)
    slot = offsets_partition(group, 4)
    other = next(name for name in map(f"{group}-{{}}".format, range(1_000)) if offsets_partition(name, 4) == slot)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": other, "log_level": 0})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": other, "log_level": 0})
    with observing(bootstrap, events_topic=published) as watched:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], consumer.consumer_group_metadata(), 30)
        with members(bootstrap, group, topic, 1):
            eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group) == 1, 5)
        producer.abort_transaction(30)
    consumer.close()


def test_partitions_of_a_new_topic_are_requested_at_once(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    with observing(bootstrap, events_topic=published, topics_interval_seconds=3600) as watched:
        create_topic(bootstrap, topic, 7)
        with members(bootstrap, group, topic, 1):
            eventually(lambda: watched.metric("kafka_rebalance_partitions", consumergroup=group) == 7)


def test_an_observer_without_groups_is_ready():
    with observing(None, idle=True) as watched:
        assert watched.metric("rebalance_agent_configured") == 0
        assert watched.parts() == {}


def test_an_observer_without_reachable_brokers_is_not_ready_with_the_reason():
    with observing("127.0.0.1:1", wait=False) as watched:
        eventually(lambda: "refused" in watched.parts()["cluster"])
        # All parts exist from the start, because an unknown part must not look ready.
        assert set(watched.parts()) == {
            "cluster",
            "describe",
            "list",
            "list_all",
            "member_events",
            "offsets_topic",
            "rights",
            "topics",
            "tracker",
        }
        assert watched.get("/readyz")[0] == 503
        assert watched.get("/healthz")[0] == 200
        assert watched.metric("rebalance_agent_ready", part="cluster") == 0
