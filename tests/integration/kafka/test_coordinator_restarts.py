"""Killed and restarted coordinators: polls continue, and bounds of stalls hold. It has its own brokers."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError
from rebalance_agent.testing import EmbeddedKafka
from support.members.member_lines import java_member
from support.observer.observing import answered, create_topic, events, eventually, members, observing

pytestmark = pytest.mark.integration

BACK_S = 30
"""librdkafka 2.16 alone never finds the coordinator again."""

CONNECTS_MAX = 30
"""In three seconds: librdkafka waits 0.1 s before it connects again, and each time twice as long."""


def test_groups_are_described_again_once_their_killed_coordinator_is_back():
    with EmbeddedKafka() as kafka:
        create_topic(kafka.bootstrap_servers, "t", 2)
        with members(kafka.bootstrap_servers, "g", "t"):
            cluster = Cluster({"bootstrap.servers": kafka.bootstrap_servers, "log_level": "0"})
            assert answered(lambda: _described(cluster)) == ["g"]
            kafka.kill_broker(1)
            with pytest.raises(ClusterError):
                _described(cluster)
            kafka.start_broker(1)
            assert answered(lambda: _described(cluster), BACK_S) == ["g"]
            assert answered(lambda: cluster.absent_groups(["nobody"])) == {"nobody"}


def test_a_request_that_waits_for_a_killed_broker_does_not_keep_connecting():
    statistics = []
    with EmbeddedKafka(2) as kafka:
        cluster = Cluster(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "log_level": "0",
                "statistics.interval.ms": "100",
                "stats_cb": statistics.append,
            }
        )
        assert answered(cluster.list_groups).complete
        kafka.kill_broker(2)
        with pytest.raises(ClusterError):
            cluster.list_groups()
    brokers = json.loads(statistics[-1])["brokers"].values()
    connects = next(broker["connects"] for broker in brokers if broker["nodeid"] == 2)
    assert connects < CONNECTS_MAX, "thousands, where librdkafka connects without a pause"


def test_the_bound_of_a_members_stall_reaches_back_before_its_coordinator_was_replaced():
    """The new coordinator gives the dead member another whole session."""
    session, clock = {"session.timeout.ms": "10000"}, SystemClock()
    with EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 2)
        with (
            observing(bootstrap, events_topic="published", settle_seconds=0.2),
            members(bootstrap, "g", "t", **session),
        ):
            victim = java_member(bootstrap, "g", "t", "victim", **session)
            try:
                eventually(lambda: victim.owned and len(_closing(bootstrap)) >= 2, 60, waiting_for="a group of two")
                eventually(lambda: _closing(bootstrap) and _committed(bootstrap), waiting_for="commits of both")
            finally:
                killed_ms = clock.now_ms()
                victim.kill()
            kafka.kill_broker(1)
            kafka.start_broker(1)
            removed = eventually(
                lambda: _alone(_closing(bootstrap), killed_ms), waiting_for="the dead member's removal"
            )[0]
    silent_s = (removed["timestamp_ms"] - killed_ms) / 1000
    assert silent_s > 10.5, "the coordinator was replaced too late in the member's session"
    assert removed["stall"]["lower_seconds"] - 0.5 <= silent_s <= removed["stall"]["seconds"] + 0.1


def _closing(bootstrap):
    """The closing events so far; members get records and commit, because the observer waits only for such groups."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for partition in range(2):
        producer.produce("t", b"x", partition=partition)
    producer.flush(10)
    published = events(bootstrap, "published", group="g")
    return [event for event in published if event["kind"] == "generation" and event["closes_episode"]]


def _committed(bootstrap):
    """Whether both partitions have a committed offset: the observer waits only for groups that commit."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "log_level": 0})
    try:
        committed = consumer.committed([TopicPartition("t", partition) for partition in range(2)], timeout=10)
        return all(each.offset >= 0 for each in committed)
    finally:
        consumer.close()


def _alone(closing, after_ms):
    """The remaining member's events since then, with both bounds: a revision has the upper one if commits come late."""
    since = [event for event in closing if event["timestamp_ms"] > after_ms and len(event["members"]) == 1]
    return [event for event in since if "seconds" in event["stall"]]


def _described(cluster):
    return [each.group for each in cluster.describe_groups(["g"])]
