"""Skew by lag and rate on the session's broker, with a real group's commits and real producers."""

from __future__ import annotations

import json
import subprocess
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.members.share_consumer import share_consumer
from support.observer.observing import KIP_848, commit, create_topic, eventually, members, observing

pytestmark = pytest.mark.integration

FOLLOWED = {"lag_groups": "followed-.*", "lag_interval_seconds": 0.5, "events_topic": ""}
RECORDS = 300


@pytest.fixture
def names():
    """A topic, a followed group and another one, for this test only."""
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"followed-{unique}", f"left-alone-{unique}"


def produce(bootstrap, topic, *partitions, records=RECORDS):
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for partition in partitions:
        for _ in range(records):
            producer.produce(topic, b"x", partition=partition)
    assert producer.flush(30) == 0


def offsets(topic, *committed):
    return [TopicPartition(topic, number, offset) for number, offset in enumerate(committed)]


def skew(watched, group, weight):
    return watched.metric("kafka_rebalance_assignment_skew_ratio", consumergroup=group, weight=weight)


def measured_again(watched, times=3):
    """Wait for this number of further measurements of lag and rate."""
    polls = lambda: watched.metric("rebalance_agent_poll_duration_seconds_count", poll="loads")  # noqa: E731
    before = polls()
    eventually(lambda: polls() >= before + times)


def test_the_lag_of_one_member_is_shown_as_skew_until_consumed(kafka, names):
    bootstrap, (topic, group, other) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    for each in (group, other):
        commit(bootstrap, each, offsets(topic, 0, 0, 0, 0))
    produce(bootstrap, topic, 0, 1)
    with observing(bootstrap, **FOLLOWED) as watched:
        idle = {"enable.auto.commit": False}
        with members(bootstrap, other, topic, 2, **idle), members(bootstrap, group, topic, 2, **idle):
            eventually(lambda: skew(watched, group, "lag") == 2, waiting_for=names)
            produce(bootstrap, topic, 2, 3)
            eventually(lambda: skew(watched, group, "lag") == 1, waiting_for=names)
            eventually(lambda: skew(watched, group, "rate") > 1.5, waiting_for=names)
            eventually(lambda: skew(watched, other, "partitions") == 1, waiting_for=names)
            produce(bootstrap, topic, 0)
            eventually(lambda: skew(watched, group, "lag") == 900 / 750, waiting_for=names)
        eventually(lambda: skew(watched, group, "lag") is None, waiting_for=names)
        with members(bootstrap, group, topic, 2, **{"auto.commit.interval.ms": 200}):
            number = lambda: watched.metric("kafka_rebalance_members", consumergroup=group)  # noqa: E731
            eventually(lambda: (number(), skew(watched, group, "lag")) == (2, 1), waiting_for=names)
        assert skew(watched, other, "lag") is skew(watched, other, "rate") is None
        assert watched.metric("rebalance_agent_loads_left_out_partitions") == 0


@pytest.mark.parametrize(("rates", "truth"), [((9, 3, 3, 3), 12 / 9), ((16, 1, 1, 2), 17 / 16)])
def test_planted_rates_are_shown_as_their_skew(kafka, names, rates, truth):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})

    def skew_by_rate():
        """The shown values after this number of further records in each partition."""
        for partition, rate in enumerate(rates):
            for _ in range(rate):
                producer.produce(topic, b"x", partition=partition)
        assert producer.flush(30) == 0
        return skew(watched, group, "rate")

    # Under range, the members have partitions 0 and 1, and 2 and 3.
    with observing(bootstrap, **FOLLOWED) as watched, members(bootstrap, group, topic, 2):
        eventually(lambda: skew_by_rate() == pytest.approx(truth, rel=0.02), waiting_for=names)


def test_offsets_of_a_transaction_count_when_it_commits_and_never_when_it_aborts(kafka, names):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    commit(bootstrap, group, offsets(topic, 0, 0, 0, 0))
    produce(bootstrap, topic, 0, 1)
    settings = {"bootstrap.servers": bootstrap, "log_level": 0}
    producer = Producer({**settings, "transactional.id": group})
    outside = Consumer({**settings, "group.id": group})
    producer.init_transactions(30)

    def send_offsets():
        producer.begin_transaction()
        producer.send_offsets_to_transaction(
            offsets(topic, RECORDS, RECORDS, 0, 0), outside.consumer_group_metadata(), 30
        )

    with (
        observing(bootstrap, **FOLLOWED) as watched,
        members(bootstrap, group, topic, 2, **{"enable.auto.commit": False}),
    ):
        eventually(lambda: skew(watched, group, "lag") == 2, waiting_for=names)
        send_offsets()
        measured_again(watched)
        assert skew(watched, group, "lag") == 2
        producer.abort_transaction(30)
        measured_again(watched)
        assert skew(watched, group, "lag") == 2
        send_offsets()
        producer.commit_transaction(30)
        eventually(lambda: skew(watched, group, "lag") == 1, waiting_for=names)
    outside.close()


SESSION_S = 45
"""The session timeout of clients and brokers by default."""

PROTOCOLS = {"classic": {}, "consumer": KIP_848}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_last_commits_of_a_member_show_that_it_left_and_bound_the_stall(kafka, names, protocol):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    commit(bootstrap, group, offsets(topic, 0, 0, 0, 0))
    commits = {"auto.commit.interval.ms": 200, "auto.offset.reset": "earliest", **PROTOCOLS[protocol]}
    with (
        observing(bootstrap, **FOLLOWED) as watched,
        members(bootstrap, group, topic, 2, **commits) as (close, _),
    ):
        shared = {"client_id": "rdkafka", "host": "127.0.0.1"}
        most = lambda: watched.metric("kafka_rebalance_owner_partitions", consumergroup=group, **shared)  # noqa: E731
        number = lambda: watched.metric("kafka_rebalance_members", consumergroup=group)  # noqa: E731
        running = lambda: watched.metric("kafka_rebalance_in_progress_seconds", consumergroup=group)  # noqa: E731
        eventually(lambda: (number(), most(), running()) == (2, 2, 0), waiting_for=names)
        for _ in range(8):  # much longer than a commit takes
            produce(bootstrap, topic, 0, 1, 2, 3, records=10)
            measured_again(watched, 1)
        # Everything was committed: zero lag is balanced.
        eventually(lambda: skew(watched, group, "lag") == 1, waiting_for=names)
        close()
        eventually(lambda: (number(), most(), running()) == (1, 4, 0), waiting_for=names)
        produce(bootstrap, topic, 0, 1, 2, 3, records=10)  # so that the other one commits its new partitions

        def departed():
            status, text = watched.get(f"/api/v1/groups/{group}/rebalances")
            found = json.loads(text)["rebalances"] if status == 200 else []
            return next((each for each in found if "member_left" in each["causes"]), None)

        rebalance = eventually(departed, waiting_for=names)
        assert (rebalance["lost"], rebalance["lost_min"]) == (0, 0)
        stall = rebalance["stall"]
        assert stall["seconds"] < SESSION_S, "as if it had failed"


def test_without_a_followed_group_nothing_is_measured(kafka):
    with observing(kafka.bootstrap_servers, events_topic="") as watched:
        assert "loads" not in watched.parts()
        assert watched.metric("rebalance_agent_poll_duration_seconds_count", poll="loads") == 0
        assert watched.metric("rebalance_agent_loads_left_out_partitions") is None


@pytest.mark.parametrize(("strategy", "breaks"), [("range", 0), ("roundrobin", 3)])
def test_breaks_of_declared_copartitioning_are_shown(kafka, names, strategy, breaks):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    for each in ("left", "right"):
        create_topic(bootstrap, f"{topic}-{each}", 3)
    with (
        observing(bootstrap, copartitioned="followed-.*", events_topic="") as watched,
        members(bootstrap, group, f"^{topic}-.*", 2, **{"partition.assignment.strategy": strategy}),
    ):
        shown = lambda name: watched.metric(f"kafka_rebalance_{name}", consumergroup=group)  # noqa: E731
        eventually(
            lambda: (shown("members"), shown("partitions"), shown("copartition_breaks")) == (2, 6, breaks),
            waiting_for=names,
        )


def coordinators_lag(kafka, group):
    """The lag of a share group according to Kafka's own tool."""
    tool = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    asked = "--bootstrap-server", kafka.bootstrap_servers, "--describe", "--offsets", "--group", group
    shown = subprocess.run(kafka.tool_command(tool, *asked), capture_output=True, text=True, check=True, timeout=60)
    return sum(int(line.split()[-1]) for line in shown.stdout.splitlines() if line.startswith(group))


def test_a_share_group_has_the_lag_that_its_coordinator_counts(kafka, names):
    """KIP-1226; the group begins at the end of its partitions."""
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 2)
    with observing(bootstrap, **FOLLOWED) as watched:
        metric = lambda name, **labels: watched.metric(name, consumergroup=group, **labels)  # noqa: E731
        lag = lambda: metric("kafka_rebalance_group_lag_offsets")  # noqa: E731

        def reads():
            produce(bootstrap, topic, 0, 1, records=5)
            return lag() == 0

        with share_consumer(kafka, group, topic):
            eventually(lambda: metric("kafka_rebalance_partitions_unassigned") == 0, waiting_for=names)
            eventually(reads, waiting_for=names)
            # The metric may be from before the last records.
            eventually(lambda: coordinators_lag(kafka, group) == 0, waiting_for="all records are acknowledged")
        eventually(lambda: metric("kafka_rebalance_group_state", state="Empty") == 1, waiting_for=names)
        produce(bootstrap, topic, 0, records=4)
        produce(bootstrap, topic, 1, records=3)
        eventually(lambda: lag() == 7, waiting_for=names)
        assert coordinators_lag(kafka, group) == 7
        assert metric("kafka_rebalance_topic_lag_offsets", topic=topic) == 7
        eventually(lambda: 0 < (metric("kafka_rebalance_group_lag_seconds") or 0) < 60, waiting_for=names)
        assert metric("kafka_rebalance_catching_up_partitions") is None
        assert metric("kafka_rebalance_stuck_partition_seconds") is None
