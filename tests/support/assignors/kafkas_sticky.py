"""Kafka's own sticky assignors (Java) on random groups, compared with ours: loads and moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import jpype

from rebalance_agent.assignors import STRATEGIES, Strategy
from rebalance_agent.groupprotocol.consumer_protocol import encode_subscription
from rebalance_agent.model.partitions import TopicPartitions, count_partitions, topic_partitions
from rebalance_agent.model.subscription import ConsumerSubscription, GroupSubscription
from support.assignors.optimum import squares_and_moves
from support.assignors.rules import valid_owners
from support.assignors.walks import Walk
from support.kafka.kafkas_java import java_buffer, start_java

Assign = Callable[[GroupSubscription], Mapping[str, TopicPartitions]]

KAFKAS_CLASS = {"sticky": "StickyAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}
GROUPS = 1_000
STEPS = 8
NEXT_GENERATION = 1_000
"""A generation newer than all of a walk."""
ROUNDS_MAX = 9


@dataclass
class Comparison:
    """Counts of groups, and of partitions in them, after all rounds of the rebalance.

    ``above``: partitions by which Kafka's highest load is above ours; ``needless``: partitions that Kafka's moves
    in addition to ours for the same balance; ``more_rounds``: groups in which it needs more rebalances than ours, of
    which ``our_rounds`` is the highest number.
    """

    groups: int = 0
    same: int = 0
    as_good: int = 0
    less_balanced: int = 0
    above: int = 0
    more_moves: int = 0
    needless: int = 0
    ours_worse: int = 0
    more_rounds: int = 0
    our_rounds: int = 0

    def add(self, group: GroupSubscription, ours: Mapping[str, TopicPartitions], kafkas: Mapping) -> None:
        """Add one ``group``, whose members claim their partitions."""
        owners = valid_owners(group)
        mine, theirs = squares_and_moves(group, owners, ours), squares_and_moves(group, owners, kafkas)
        self.groups += 1
        self.same += ours == kafkas
        self.as_good += mine == theirs and ours != kafkas
        self.ours_worse += mine > theirs
        if mine[0] < theirs[0]:
            self.less_balanced += 1
            self.above += _highest(kafkas) - _highest(ours)
        elif mine < theirs:
            self.more_moves += 1
            self.needless += theirs[1] - mine[1]


def kafkas_own(name: str) -> Assign:
    """Kafka's assignor of that name, through the subscription bytes that members would send."""
    start_java()
    jpype.JClass("java.lang.System").setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off")
    consumer = "org.apache.kafka.clients.consumer"
    decode = jpype.JClass(f"{consumer}.internals.ConsumerProtocol").deserializeSubscription
    optional, java_map, integer = (
        jpype.JClass(f"java.{name}") for name in ("util.Optional", "util.HashMap", "lang.Integer")
    )

    def assign(subject: GroupSubscription) -> Mapping[str, TopicPartitions]:
        partitions, subscriptions = java_map(), java_map()
        for topic in sorted({topic for each in subject.members for topic in each.topics} & subject.topics.keys()):
            if subject.topics[topic].partitions:
                partitions.put(topic, integer(subject.topics[topic].partitions))
        for each in subject.members:
            data = encode_subscription(
                ConsumerSubscription(3, each.topics, each.user_data, each.owned, each.generation)
            )
            subscription = decode(java_buffer(data))
            if each.instance_id is not None:
                subscription.setGroupInstanceId(optional.of(each.instance_id))
            subscriptions.put(each.member_id, subscription)
        result = jpype.JClass(f"{consumer}.{KAFKAS_CLASS[name]}")().assign(partitions, subscriptions)
        return {
            str(entry.getKey()): topic_partitions(
                (str(each.topic()), int(each.partition())) for each in entry.getValue()
            )
            for entry in result.entrySet()
        }

    return assign


def compare(name: str) -> Comparison:
    """Compare Kafka's assignor of that name with ours on random groups."""
    strategy, kafkas = STRATEGIES[name], kafkas_own(name)
    comparison = Comparison()
    for reported, truth in random_groups(strategy):
        ours, our_rounds = after_all_rounds(strategy, lambda group: strategy.assign(group).members, reported)
        theirs, their_rounds = after_all_rounds(strategy, kafkas, reported)
        comparison.add(truth, ours, theirs)
        comparison.more_rounds += their_rounds > our_rounds
        comparison.our_rounds = max(comparison.our_rounds, our_rounds)
    return comparison


def random_groups(strategy: Strategy) -> Iterator[tuple[GroupSubscription, GroupSubscription]]:
    """Pairs: a group as the leader gets it, and with its true ownership. None is empty, because Java rejects that."""
    left, seed = GROUPS, 0
    while left:
        for stop in Walk(seed, newest=True).stops(strategy, STEPS):
            if stop.reported.members and left:
                yield stop.reported, stop.truth
                left -= 1
        seed += 1


def after_all_rounds(
    strategy: Strategy, assign: Assign, reported: GroupSubscription
) -> tuple[Mapping[str, TopicPartitions], int]:
    """The final assignment, and its number of rebalances: 1 under the eager protocol."""
    subscribed = {topic for each in reported.members for topic in each.topics} & reported.topics.keys()
    partitions = sum(reported.topics[topic].partitions for topic in subscribed)
    for rounds in range(1, ROUNDS_MAX + 1):
        assigned = assign(reported)
        if sum(map(count_partitions, assigned.values())) == partitions:
            return assigned, rounds
        generation = NEXT_GENERATION + rounds
        data = strategy.user_data({}, {}, generation)
        members = (
            replace(each, owned=assigned[each.member_id], generation=generation, user_data=data)
            for each in reported.members
        )
        reported = replace(reported, members=tuple(members))
    raise AssertionError(f"partitions are still withheld after {ROUNDS_MAX} rebalances")


def _highest(assigned: Mapping[str, TopicPartitions]) -> int:
    return max(map(count_partitions, assigned.values()), default=0)
