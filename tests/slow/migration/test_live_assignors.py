"""The models of the brokers' assignors against a running broker: every target assignment of 30 random groups."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from rebalance_agent.assignors.broker import BROKER_ASSIGNORS
from rebalance_agent.assignors.broker.java_order import map_order
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import GroupSubscription, TopicMetadata
from rebalance_agent.testing import EmbeddedKafka
from support.assignors.broker_groups import broker_roster
from support.migration.live_targets import TOPICS, LiveGroup, topics_of
from support.migration.members import Broker

pytestmark = [pytest.mark.integration, pytest.mark.slow]

GROUPS = 30
STEPS = 8


def modelled(group, assignor):
    """The model's assignment, members in the order of the broker's map."""
    order = map_order(each.member_id for each in group.members)
    if assignor == "range":
        order = sorted(order)
    return dict(zip(order, BROKER_ASSIGNORS[assignor].plan(broker_roster(group, order)), strict=True))


def moved(before, after):
    return sum(
        len(set(numbers) - set(after.get(name, {}).get(topic, ())))
        for name, held in before.items()
        if name in after
        for topic, numbers in held.items()
    )


def test_targets_of_a_running_broker_are_those_of_the_models():
    seen = Counter()
    settings = {"group.consumer.assignment.interval.ms": "0"}
    with EmbeddedKafka(properties=settings) as kafka:
        broker = Broker(kafka.bootstrap_servers)
        ids = topics_of(kafka)
        for seed in range(GROUPS):
            rnd = random.Random(seed)
            live = LiveGroup(broker, f"live-{seed}", rnd, ids)
            for _ in range(STEPS):
                before, members, target = live.change()
                ordered = {name: TopicMetadata(TOPICS[name]) for name in live.ordered_topics()}
                renamed = GroupSubscription(ordered, members)
                mine = modelled(renamed, live.assignor)
                seen["identical" if mine == target else "equal"] += 1
                assert sorted(map(count_partitions, mine.values())) == sorted(map(count_partitions, target.values()))
                assert moved(before, mine) == moved(before, target), (seed, before, mine, target)
        broker.close()
    assert seen["identical"] > GROUPS * STEPS // 2, seen
