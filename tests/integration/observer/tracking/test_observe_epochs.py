"""Groups with broker-side assignment, through the whole observer on the session's broker."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from support.members.share_consumer import share_consumer
from support.migration.members import Broker, EpochMember
from support.observer.observing import (
    KIP_848,
    PATIENCE_S,
    create_topic,
    events,
    eventually,
    members,
    observing,
    slow_to_give_up,
)

pytestmark = pytest.mark.integration

INTERVAL_MS = 3_000
"""Shortest time between two assignments of the coordinator (KIP-1263)."""


@pytest.fixture
def names():
    """A topic, a group and a topic of events for this test only."""
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"group-{unique}", f"events-{unique}"


def _closing(bootstrap, topic, group):
    return [
        each
        for each in events(bootstrap, topic, group=group)
        if each["kind"] == "generation" and each["closes_episode"] and each["members"]
    ]


def test_a_consumer_groups_join_and_leave_are_two_rebalances_with_their_moves(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 6)
    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched:
        metric = lambda name, **labels: watched.metric(name, consumergroup=group, **labels)  # noqa: E731
        with members(bootstrap, group, topic, 1, **KIP_848):
            eventually(lambda: metric("kafka_rebalance_partitions_unassigned") == 0)
            with members(bootstrap, group, topic, 1, **KIP_848):
                eventually(lambda: metric("kafka_rebalance_members") == 2)
                eventually(lambda: metric("kafka_rebalance_group_state", state="Stable") == 1)
            eventually(lambda: metric("kafka_rebalance_members") == 1)
            eventually(lambda: metric("kafka_rebalance_partitions_unassigned") == 0)
            eventually(lambda: _closing(bootstrap, published, group)[-1]["trigger"] == "member_gone")
        eventually(lambda: metric("kafka_rebalance_group_state", state="Empty") == 1)
    # Between the start and the join, the coordinator may notice that the new topic has partitions.
    started, *_, joined, left = _closing(bootstrap, published, group)
    assert [each["trigger"] for each in (started, joined, left)] == ["group_started", "member_joined", "member_gone"]
    assert [each["moved"] for each in (started, joined, left)] == [0, 3, 3]
    assert [each["group_type"] for each in (started, joined, left)] == ["consumer"] * 3
    assert joined["generation"] == left["previous_generation"]
    assert all(topic in member["assigned"] for member in joined["members"])
    phases = joined["phases"]
    assert phases["started_ms"] <= phases["joined_ms"] <= phases["completed_ms"]
    assert 0 <= joined["stall"]["lower_seconds"] <= joined["stall"].get("seconds", 29) < 30


def test_the_wait_for_the_assignor_is_apart_from_the_wait_for_members(kafka, names):
    """The second member joins soon after the first assignment, so the coordinator waits before it assigns again."""
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    name, change = "consumer.assignment.interval.ms", AlterConfigOpType.SET
    interval = ConfigEntry(name, str(INTERVAL_MS), incremental_operation=change)
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[interval])
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    one, two = EpochMember(group, (topic,)), EpochMember(group, (topic,))
    with observing(bootstrap, events_topic=published, settle_seconds=0.2), closing(Broker(bootstrap)) as broker:

        def held(*members):
            assert [each.beat(broker) for each in members] == [(0, None)] * len(members)
            return [sum(len(row["partitions"]) for row in each.partitions) for each in members]

        assert one.join(broker) == (0, None)
        eventually(lambda: held(one) == [4])
        assert two.join(broker) == (0, None)
        eventually(lambda: held(one, two) == [2, 2])
        joined = eventually(
            lambda: [each for each in _closing(bootstrap, published, group) if each["causes"] == ["member_joined"]]
        )[-1]
        for each in (one, two):
            each.leave(broker)
    phases = joined["phases"]
    assert joined["assignor_wait_seconds"] == (phases["joined_ms"] - phases["started_ms"]) / 1000
    assert 0 < joined["assignor_wait_seconds"] <= INTERVAL_MS / 1000 + 1
    assert phases["joined_ms"] <= phases["completed_ms"]


def test_the_member_that_a_rebalance_waits_for_is_named_while_it_runs(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    with observing(bootstrap, events_topic=published) as watched:
        unassigned = lambda: watched.metric("kafka_rebalance_partitions_unassigned", consumergroup=group)  # noqa: E731
        running = lambda: watched.detail(group)["summary"].get("running", {})  # noqa: E731
        with slow_to_give_up(bootstrap, group, topic, **KIP_848, **{"client.id": "slow"}) as released:
            eventually(lambda: unassigned() == 0)
            with members(bootstrap, group, topic, 1, **KIP_848, **{"client.id": "new"}):
                pending = lambda: running().get("pending", {"named": ()})["named"]  # noqa: E731
                slow = lambda: [(each["client_id"], each["partitions"]) for each in pending()]  # noqa: E731
                eventually(lambda: slow() == [("slow", 2)], waiting_for="the member that has to revoke")
                released.set()
                eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group) == 2)
                eventually(lambda: not running())


def test_a_consumer_group_older_than_the_observer_is_shown_without_events(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    with members(bootstrap, group, topic, 2, **KIP_848):
        with observing(bootstrap, settle_seconds=0.2) as first:
            eventually(lambda: first.metric("kafka_rebalance_group_state", consumergroup=group, state="Stable") == 1)
            epoch = first.metric("kafka_rebalance_generation", consumergroup=group)
        with observing(bootstrap, events_topic=f"{published}-again", settle_seconds=0.2) as second:
            eventually(lambda: second.metric("kafka_rebalance_generation", consumergroup=group) == epoch)
            eventually(lambda: second.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
            assert second.metric("rebalance_agent_events_published_total", kind="generation", sink="kafka") == 0


def test_members_of_a_share_group_have_all_partitions_and_leave_it_empty(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 3)
    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched:
        metric = lambda name, **labels: watched.metric(name, consumergroup=group, **labels)  # noqa: E731
        with share_consumer(kafka, group, topic), share_consumer(kafka, group, topic):
            eventually(lambda: metric("kafka_rebalance_members") == 2)
            eventually(lambda: metric("kafka_rebalance_group_state", state="Stable") == 1)
            eventually(lambda: metric("kafka_rebalance_partitions_unassigned") == 0)
        eventually(lambda: metric("kafka_rebalance_group_state", state="Empty") == 1)
        # Both may join before the first gets partitions, and leave before the other gets the rest.
        eventually(lambda: _closing(bootstrap, published, group))
        # The second member may get some of the first one's partitions; scenarios check the number.
        assert metric("kafka_rebalance_partitions_moved_total") <= 3
        assert metric("kafka_rebalance_assignment_skew_ratio", weight="partitions") is None
        assert {each["group_type"] for each in _closing(bootstrap, published, group)} == {"share"}
