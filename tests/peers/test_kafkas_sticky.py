"""``sticky`` compared with Kafka's own Java class: never a worse balance, never more moves for the same balance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.partitions import count_partitions, topic_partitions
from rebalance_agent.model.subscription import ConsumerSubscription
from support.assignors.optimum import squares_and_moves
from support.assignors.rules import group, member, valid_owners
from support.assignors.walks import Walk
from support.kafka.kafkas_java import java_buffer, start_java

jpype = pytest.importorskip("jpype", reason="runs Java in this process")
pytestmark = pytest.mark.integration

STICKY = STRATEGIES["sticky"]
GROUPS = 1_000
STEPS = 8


@pytest.fixture(scope="session")
def java_sticky():
    """Kafka's ``StickyAssignor`` as a function of a group, through the subscription bytes that members would send."""
    start_java()
    jpype.JClass("java.lang.System").setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off")
    consumer = "org.apache.kafka.clients.consumer"
    decode = jpype.JClass(f"{consumer}.internals.ConsumerProtocol").deserializeSubscription
    optional, java_map, integer = (
        jpype.JClass(f"java.{name}") for name in ("util.Optional", "util.HashMap", "lang.Integer")
    )

    def assign(subject):
        partitions, subscriptions = java_map(), java_map()
        for topic in {topic for each in subject.members for topic in each.topics} & subject.topics.keys():
            if subject.topics[topic].partitions:
                partitions.put(topic, integer(subject.topics[topic].partitions))
        for each in subject.members:
            data = encode_subscription(ConsumerSubscription(3, each.topics, each.user_data, {}, each.generation))
            subscription = decode(java_buffer(data))
            if each.instance_id is not None:
                subscription.setGroupInstanceId(optional.of(each.instance_id))
            subscriptions.put(each.member_id, subscription)
        result = jpype.JClass(f"{consumer}.StickyAssignor")().assign(partitions, subscriptions)
        return {
            str(entry.getKey()): topic_partitions(
                (str(each.topic()), int(each.partition())) for each in entry.getValue()
            )
            for entry in result.entrySet()
        }

    return assign


def reported(subject):
    """The members of ``subject`` as eager sticky clients: what they own travels in user data."""
    members = (
        replace(each, owned={}, user_data=STICKY.user_data({}, each.owned, each.generation) if each.owned else None)
        for each in subject.members
    )
    return replace(subject, members=tuple(members))


def loads(target):
    return {member_id: count_partitions(topics) for member_id, topics in target.items()}


def test_kafkas_own_is_never_better_and_at_times_worse(java_sticky):
    worse_balance = more_moves = groups = 0
    for seed in range(GROUPS // STEPS):
        for stop in Walk(seed, newest=True).stops(STICKY, STEPS):
            if not stop.reported.members:
                continue  # Java refuses a group without members
            owners = valid_owners(stop.truth)
            ours = squares_and_moves(stop.truth, owners, stop.assignment.members)
            javas = squares_and_moves(stop.truth, owners, java_sticky(stop.reported))
            assert ours <= javas, seed
            groups += 1
            worse_balance += ours[0] < javas[0]
            more_moves += ours[0] == javas[0] and ours[1] < javas[1]
    print(f"of {groups} groups, Kafka's own leaves {worse_balance} less balanced and moves too much in {more_moves}")
    assert worse_balance
    assert more_moves


def test_kafkas_own_leaves_this_group_unbalanced(java_sticky):
    subject = group(
        {"t": 2, "u": 1},
        member("a", "u"),
        member("b", "t u", owned={"t": (0, 1)}, generation=1),
        member("c", "t u", owned={"u": (0,)}, generation=1),
    )
    assert loads(java_sticky(reported(subject))) == {"a": 0, "b": 2, "c": 1}
    assert loads(STICKY.assign(reported(subject)).members) == {"a": 1, "b": 1, "c": 1}


def test_kafkas_own_moves_more_in_this_group_than_its_balance_needs(java_sticky):
    subject = group(
        {"t": 3, "u": 1},
        member("a", "t u", owned={"t": (0, 1), "u": (0,)}, generation=1),
        member("b", "t u", owned={"t": (2,)}, generation=1),
        member("c", "u"),
    )
    javas, ours = java_sticky(reported(subject)), STICKY.assign(reported(subject)).members
    owners = valid_owners(subject)
    assert squares_and_moves(subject, owners, javas) == (6, 2)
    assert squares_and_moves(subject, owners, ours) == (6, 1)


def test_kafkas_own_fails_where_owned_partitions_are_gone(java_sticky):
    subject = group(
        {"t": 2}, member("a", "t", owned={"t": (5,)}, generation=1), member("b", "t", owned={"t": (6,)}, generation=1)
    )
    with pytest.raises(jpype.JException, match="No more unfilled consumers"):
        java_sticky(reported(subject))
    assert STICKY.assign(reported(subject)).members == {"a": {"t": (0,)}, "b": {"t": (1,)}}


def test_kafkas_own_hands_out_a_partition_that_never_was(java_sticky):
    subject = group({"t": 2}, member("a", "t", owned={"t": (0, -1)}, generation=1), member("b", "t"))
    assert java_sticky(reported(subject)) == {"a": {"t": (-1,)}, "b": {"t": (0, 1)}}
    assert STICKY.assign(reported(subject)).members == {"a": {"t": (0,)}, "b": {"t": (1,)}}
