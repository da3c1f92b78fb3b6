"""Every strategy in kafka-python members on a real broker: the members own what the strategy promises."""

from __future__ import annotations

from collections import Counter

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from kafka import KafkaConsumer as PlainConsumer
from kafka import TopicPartition
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from rebalance_agent.assignors import STRATEGIES, Strategy
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions, pairs, topic_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata
from support.members.threads import Crew, create_topic, until
from support.observer.sidecars import Sidecar

pytestmark = pytest.mark.integration


@pytest.fixture
def crew(kafka):
    with Crew(kafka) as crew:
        yield crew


@pytest.fixture
def sidecar():
    with Sidecar() as taking:
        yield taking


def owned_by_member(crew):
    """Member id -> its partitions, according to the members."""
    return {
        member.consumer.group_metadata().member_id: topic_partitions(
            (each.topic, each.partition) for each in member.owned
        )
        for member in crew.members
    }


def keeps_promise(strategy, crew, topics):
    """Wait for one generation in which partitions have as many owners, and members the same loads, as in the strategy's
    own plan."""
    if not crew.settled:
        return False
    by_id = owned_by_member(crew)
    group = GroupSubscription(
        {name: TopicMetadata(count) for name, count in topics.items()},
        tuple(MemberSubscription(name, tuple(topics)) for name in by_id),
    )
    plan = strategy.assign(group)
    return (
        copies(by_id.values()) == copies(plan.members.values())
        and set(copies(by_id.values())) == {(name, number) for name in topics for number in range(topics[name])}
        and loads(by_id.values()) == loads(plan.members.values())
    )


def copies(assignments):
    return Counter(partition for one in assignments for partition in pairs(one))


def loads(assignments):
    return sorted(map(count_partitions, assignments))


def assigns(sidecar, crew):
    with sidecar.changed:
        return [event for event in sidecar.taken if (event["kind"], event["group"]) == ("assign", crew.group)]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_keeps_its_promise_through_a_join_and_a_leave(kafka, crew, sidecar, name):
    topics = {create_topic(kafka, 7): 7, create_topic(kafka, 4): 4}
    strategy = STRATEGIES[name]

    def join():
        return crew.join(*topics, partition_assignment_strategy=name, events_url=sidecar.url)

    first = join()
    join()
    until(lambda: keeps_promise(strategy, crew, topics))
    join()
    until(lambda: keeps_promise(strategy, crew, topics))
    before = crew.members[-1].generation
    crew.leave(first)
    until(lambda: keeps_promise(strategy, crew, topics) and crew.members[-1].generation > before)
    if strategy.redundancy is None:
        assert crew.ledger.doubled == []
    assert sidecar.wait_for(lambda _: {2, 3} <= {event["members"] for event in assigns(sidecar, crew)})
    for event in assigns(sidecar, crew):
        assert event["assignor"] == name
        assert "error" not in event
        assert not event.get("user_data_errors")
        # Range balances each topic separately.
        assert event["quality"]["imbalance"] == 0 or name == "range"
        assert event["quality"]["unassigned"] == 0


COOPERATIVE = [name for name, each in STRATEGIES.items() if each.protocol is RebalanceProtocol.COOPERATIVE]


@pytest.mark.parametrize("name", COOPERATIVE)
def test_cooperative_strategies_keep_unmoved_partitions_and_move_others_in_a_follow_up(kafka, crew, sidecar, name):
    topic = create_topic(kafka, 12)
    priority = {"assignment.consumer.priority": 1} if name == "cooperative-failover" else {}
    first = crew.join(topic, client_id="first", partition_assignment_strategy=name, events_url=sidecar.url)
    until(lambda: len(first.owned) == 12)
    alone = first.generation
    second = crew.join(
        topic, client_id="second", partition_assignment_strategy=name, assignor_config=priority, events_url=sidecar.url
    )
    expected = [12, 0] if name == "cooperative-failover" else [6, 6]
    until(lambda: crew.settled and crew.sizes == expected and second.generation > alone)
    kept = expected[0]

    def reported(client, callback):
        with sidecar.changed:
            return [
                event
                for event in sidecar.taken
                if (event.get("callback"), event.get("client_id"), event["group"]) == (callback, client, crew.group)
            ]

    if kept == 12:
        assert reported("first", "revoked") == []
        return
    # The newcomer gets the rest in a later generation than the one in which the first member revoked it.
    assert sidecar.wait_for(lambda _: reported("second", "assigned"))
    (revoked,) = reported("first", "revoked")
    (assigned,) = reported("second", "assigned")
    assert revoked["partitions"] == assigned["partitions"]
    assert revoked["generation"] < assigned["generation"]
    assert revoked["timestamp_ms"] <= assigned["started_ms"]
    assert crew.ledger.doubled == []


def test_failover_moves_all_partitions_as_configured(kafka, crew):
    topic = create_topic(kafka, 5)

    def join(priority):
        return crew.join(
            topic,
            partition_assignment_strategy=["cooperative-failover"],
            assignor_config={"assignment.consumer.priority": priority},
            session_timeout_ms=6_000,
        )

    passive = join(1)
    until(lambda: len(passive.owned) == 5)
    active = join(2)
    until(lambda: crew.settled and crew.sizes == [0, 5])
    crew.crash(active)
    until(lambda: len(passive.owned) == 5)
    active = join(2)
    until(lambda: crew.settled and crew.sizes == [0, 5])
    crew.leave(active)
    until(lambda: len(passive.owned) == 5)
    assert crew.members == [passive]


def test_heavy_partitions_are_spread_by_their_lag(kafka, crew):
    topic = create_topic(kafka, 6)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    # By counts one member would get both heavy partitions.
    for number, records in enumerate((90, 1, 90, 1, 1, 1)):
        for _ in range(records):
            producer.produce(topic, b"record", partition=number)
    assert producer.flush(30) == 0
    for _ in range(2):
        # No member commits, so the lag is the number of produced records.
        crew.join(topic, partition_assignment_strategy="lag-aware", enable_auto_commit=False)
    until(lambda: crew.settled and crew.sizes == [3, 3])
    heavy = {TopicPartition(topic, 0), TopicPartition(topic, 2)}
    assert [len(member.owned & heavy) for member in crew.members] == [1, 1]


def test_loads_may_come_from_the_application(kafka, crew):
    topic = create_topic(kafka, 4)
    asked = []

    def loads(topics):
        asked.append(dict(topics))
        return {topic: [9, 1, 1, 1]}

    config = {"assignment.max.count.factor": 3}
    for _ in range(2):
        crew.join(topic, partition_assignment_strategy="lag-aware", loads=loads, assignor_config=config)
    until(lambda: crew.settled and sorted(crew.sizes) == [1, 3])
    assert {TopicPartition(topic, 0)} in [member.owned for member in crew.members]
    assert {topic: 4} in asked


def test_a_pattern_follows_new_topics_also_if_only_another_member_subscribes_to_them(kafka, crew):
    prefix = f"{crew.group}-of"
    mine, theirs = create_topic(kafka, 3), create_topic(kafka, 2, f"{prefix}-one")
    leader = crew.join(mine, partition_assignment_strategy="cooperative-sticky")
    until(lambda: len(leader.owned) == 3)
    follower = crew.join(
        pattern=f"^{prefix}-.*", poll_ms=50, metadata_max_age_ms=500, partition_assignment_strategy="cooperative-sticky"
    )
    until(lambda: {each.topic for each in follower.owned} == {theirs} and len(follower.owned) == 2)
    new = create_topic(kafka, 4, f"{prefix}-two")
    until(lambda: len(follower.owned) == 6)
    assert {each.topic for each in follower.owned} == {theirs, new}
    assert leader.consumer._coordinator._is_leader
    assert {each.topic for each in leader.owned} == {mine}


def test_new_partitions_of_a_topic_of_another_member_only_are_assigned(kafka, crew):
    mine, theirs = create_topic(kafka, 3), create_topic(kafka, 2)
    leader = crew.join(mine, partition_assignment_strategy="sticky", metadata_max_age_ms=500)
    until(lambda: len(leader.owned) == 3)
    follower = crew.join(theirs, partition_assignment_strategy="sticky")
    until(lambda: len(follower.owned) == 2)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_partitions([NewPartitions(theirs, 5)])[theirs].result(30)
    until(lambda: len(follower.owned) == 5)


@pytest.mark.parametrize("poll_ms", [10, 60])
def test_members_with_short_polls_join_and_do_not_disturb_the_group(kafka, crew, poll_ms):
    topic = create_topic(kafka, 6)
    for _ in range(3):
        crew.join(pattern=f"^{topic}$", poll_ms=poll_ms, partition_assignment_strategy="range")
    until(lambda: crew.settled and crew.sizes == [2, 2, 2])
    assert crew.members[0].generation <= 3


class ShortV1(RoundRobinPartitionAssignor):
    """Another client, whose subscription of "version 1" ends after the fields of version 0, as sarama's did."""

    name = "sticky"

    @classmethod
    def metadata(cls, topics):
        return b"\0\1" + super().metadata(topics).encode()[2:]


class Nonsense(RoundRobinPartitionAssignor):
    """Another client with an invalid subscription."""

    name = "sticky"

    @classmethod
    def metadata(cls, topics):
        return b"\xff\xff\xff\xff"


def test_our_leader_accepts_members_with_truncated_and_broken_subscriptions(kafka, crew):
    topic = create_topic(kafka, 6)
    leader = crew.join(topic, partition_assignment_strategy="sticky")
    until(lambda: len(leader.owned) == 6)
    short = crew.join(topic, kind=PlainConsumer, partition_assignment_strategy=[ShortV1])
    broken = crew.join(topic, kind=PlainConsumer, partition_assignment_strategy=[Nonsense])
    until(lambda: crew.settled and crew.sizes == [3, 3, 0])
    assert [leader.error, short.error, broken.error] == [None, None, None]
    assert leader.consumer._coordinator._is_leader


def test_a_custom_strategy_object_is_used(kafka, crew, sidecar):
    topic = create_topic(kafka, 6)
    mine = Strategy(
        "all-to-the-last",
        RebalanceProtocol.EAGER,
        "every partition to the last member",
        lambda roster: [
            *({} for _ in roster.members[1:]),
            {name: tuple(range(count)) for name, count in zip(roster.topics, roster.partitions, strict=True)},
        ],
    )
    for place in range(2):
        crew.join(topic, client_id=f"{place}", partition_assignment_strategy=mine, events_url=sidecar.url)
    until(lambda: crew.settled and crew.sizes == [0, 6])
    assert sidecar.wait_for(lambda _: {event["assignor"] for event in assigns(sidecar, crew)} == {"all-to-the-last"})
