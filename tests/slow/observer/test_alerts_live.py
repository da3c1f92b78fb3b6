"""Alerts that do not fire in the demo, in a real Prometheus: each fires and resolves in time, and no other fires.

Groups of real consumers on an embedded broker, an observer, and the rules with windows and thresholds of seconds.
"""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor

from rebalance_agent.clock import SystemClock
from support.charts.live_alerts import LiveAlerts
from support.charts.live_prometheus import Prometheus, server
from support.charts.live_rules import short
from support.observer.observing import PATIENCE_S, create_topic, eventually, members, observing

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ALERTS = {
    # Kafka's shortest session timeout is 6 s; the members' rebalance timeout here 45 s: stuck from 5 s on.
    "KafkaGroupRebalanceStuck": {"margin_seconds": -40},
    "KafkaGroupRebalanceSlow": {"seconds": 2, "for": "1s"},
    "KafkaGroupStalled": {"window": "20s"},
    "KafkaGroupStalledLong": {"window": "20s"},
    "KafkaGroupRebalanceStorm": {"window": "30s", "rebalances": 4, "per_member": 1, "keep_firing_for": "1s"},
    "KafkaGroupPartitionsUnassigned": {"for": "2s"},
    "KafkaGroupCopartitionBroken": {"for": "2s"},
    "KafkaGroupPartitionsLost": {"window": "20s"},
    "RebalanceAgentDown": {"for": "2s", "memory": "10m"},
}


@pytest.fixture(scope="module")
def watching(tmp_path_factory, kafka):
    """Prometheus and an observer on the session's broker; groups are new in each test."""
    if server() is None:
        pytest.skip("no prometheus: run by `make test-slow`")
    folder = tmp_path_factory.mktemp("prometheus")
    rules = [short(folder, "1s", ALERTS)]
    with Prometheus(server(), folder, rules, scrape_seconds=1) as prometheus:
        settings = {"copartitioned": "joins-.*", "stall_limits": "led-.*=0.5,2,6"}
        with observing(kafka.bootstrap_servers, topics_interval_seconds=1, **settings) as watched:
            prometheus.watch("observer", "kafka-rebalance-agent", f"127.0.0.1:{watched.role.port}")
            yield LiveAlerts(prometheus)
        # It has ended, which is the last visible change.
        LiveAlerts(prometheus).fires("RebalanceAgentDown")


@pytest.fixture
def place(kafka):
    """A topic of four partitions and a name for a group."""
    unique = uuid.uuid4().hex[:8]
    create_topic(kafka.bootstrap_servers, f"topic-{unique}", 4)
    return f"topic-{unique}", f"group-{unique}"


@contextmanager
def unpolled(bootstrap, topic, group):
    """A member that joins and then does not poll: it sends heartbeats, and no rebalance can end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "unpolled",
            "max.poll.interval.ms": 45_000,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 200,
            "log_level": 0,
        }
    )
    # With a callback, librdkafka waits for poll() before it revokes; without one, it revokes itself.
    joined, busy, over = threading.Event(), threading.Event(), threading.Event()
    consumer.subscribe([topic], on_assign=lambda *_: joined.set(), on_revoke=lambda *_: None)

    def poll():
        pause = threading.Event()
        while not over.is_set():
            if busy.is_set():
                pause.wait(0.05)
            else:
                consumer.poll(0.05)
        consumer.close()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        eventually(joined.is_set, waiting_for="it has joined")
        yield busy
    finally:
        busy.clear()
        over.set()
        thread.join(60)


def test_a_member_that_does_not_revoke_makes_a_rebalance_slow_and_then_stuck(kafka, watching, place):
    topic, group = place
    with unpolled(kafka.bootstrap_servers, topic, group) as busy:
        busy.set()
        with members(kafka.bootstrap_servers, group, topic, **{"max.poll.interval.ms": 45_000}):
            watching.fires("KafkaGroupRebalanceSlow", group)
            watching.fires("KafkaGroupRebalanceStuck", group)
            busy.clear()
            watching.ends("KafkaGroupRebalanceStuck", group)
            watching.ends("KafkaGroupRebalanceSlow", group)
            assert watching.fired(group) == {"KafkaGroupRebalanceSlow", "KafkaGroupRebalanceStuck"}


class SlowRange(RangePartitionAssignor):
    """An assignor that returns only when the test allows it."""

    may_answer = threading.Event()

    @classmethod
    def assign(cls, cluster, members):
        cls.may_answer.wait(PATIENCE_S)
        return super().assign(cluster, members)


@contextmanager
def led_slowly(bootstrap, topic, group):
    """A member that joins first, so that it leads the group."""
    SlowRange.may_answer.set()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        partition_assignment_strategy=(SlowRange,),
        heartbeat_interval_ms=200,
    )
    joined, over = threading.Event(), threading.Event()

    def poll():
        while not over.is_set():
            consumer.poll(50)
            if consumer.assignment():
                joined.set()
        consumer.close()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        eventually(joined.is_set, waiting_for="it has joined")
        yield SlowRange.may_answer
    finally:
        SlowRange.may_answer.set()
        over.set()
        thread.join(60)


def test_a_leader_that_assigns_slowly_stalls_the_whole_group(kafka, watching, place):
    """No member reports: records and polls show that all partitions are stalled."""
    topic, group = place[0], f"led-{place[1]}"
    with led_slowly(kafka.bootstrap_servers, topic, group) as may_answer:
        may_answer.clear()
        with members(kafka.bootstrap_servers, group, topic):
            watching.fires("KafkaGroupStalled", group)
            watching.fires("KafkaGroupStalledLong", group)
            may_answer.set()
            watching.ends("KafkaGroupStalledLong", group)
            watching.ends("KafkaGroupStalled", group)
            stalled = {"KafkaGroupStalled", "KafkaGroupStalledLong"}
            assert watching.fired(group) - {"KafkaGroupRebalanceSlow"} == stalled


def test_a_member_that_joins_and_leaves_repeatedly_makes_a_storm(kafka, watching, place):
    topic, group = place
    clock = SystemClock()
    with members(kafka.bootstrap_servers, group, topic):
        end = clock.monotonic() + 90
        while ("KafkaGroupRebalanceStorm", group) not in watching.now():
            assert clock.monotonic() < end, "no storm was seen"
            with members(kafka.bootstrap_servers, group, topic) as closers:
                closers[0]()
        watching.ends("KafkaGroupRebalanceStorm", group)
        assert watching.fired(group) == {"KafkaGroupRebalanceStorm"}


def test_broken_copartitioning_fires(kafka, watching, place):
    topic, _ = place
    create_topic(kafka.bootstrap_servers, f"{topic}-too", 4)
    group, dealt = f"joins-{topic}", {"partition.assignment.strategy": "roundrobin"}
    # With three members, the second topic's first partition is the second member's; with two, it is the first member's.
    with members(kafka.bootstrap_servers, group, f"^{topic}.*", 3, **dealt) as closers:
        watching.fires("KafkaGroupCopartitionBroken", group)
        closers[0]()
        watching.ends("KafkaGroupCopartitionBroken", group)
        assert watching.fired(group) == {"KafkaGroupCopartitionBroken"}


def test_partitions_unknown_to_the_members_have_no_owner(kafka, watching, place):
    topic, group = place
    late = {"topic.metadata.refresh.interval.ms": 15_000, "metadata.max.age.ms": 30_000}
    with members(kafka.bootstrap_servers, group, topic, **late):
        watching.sees(f'kafka_rebalance_members{{consumergroup="{group}"}} == 1')
        eventually(lambda: watching.now() is not None)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        admin.create_partitions([NewPartitions(topic, 6)])[topic].result()
        watching.fires("KafkaGroupPartitionsUnassigned", group)
        watching.ends("KafkaGroupPartitionsUnassigned", group)
        assert watching.fired(group) == {"KafkaGroupPartitionsUnassigned"}
