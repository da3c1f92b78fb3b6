"""``rack-aware-sticky`` compared with a brute-force search of all assignments of small groups."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import TopicMetadata
from support.assignors.rules import every_assignment, groups, knotty_group, valid_owners
from support.examples import examples

AFFINITY = "assignment.topic.affinity"
LABELS = "assignment.consumer.labels"
LABEL_TEXTS = ["", "zone=eu", "zone=us", "tier=gold", "tier=gold,zone=eu"]
WISHES = ["zone=eu", "zone=us", "tier=gold", "zone=eu;tier=gold", "zone=nowhere"]
STRATEGY = STRATEGIES["rack-aware-sticky"]


def placed_group(seed):
    """A small group of mixed subscriptions, most of whose members and replicas have racks and labels."""
    rnd = random.Random(seed)
    group = knotty_group(seed)
    racks = ["r1", "r2", "r3"][: rnd.randint(1, 3)]
    topics = {}
    for name, known in group.topics.items():
        rows = [tuple(rnd.sample(racks, rnd.randint(0, min(2, len(racks))))) for _ in range(known.partitions)]
        topics[name] = TopicMetadata(known.partitions, tuple(rows) if rnd.random() < 0.8 else None)
    members = tuple(
        replace(
            each,
            rack=rnd.choice([*racks, *racks, None]),
            config={LABELS: rnd.choice(LABEL_TEXTS)},
            topics=tuple(topics) if rnd.random() < 0.5 else each.topics,
        )
        for each in group.members
    )
    affinity = ",".join(f"{name}:{rnd.choice(WISHES)}" for name in topics if rnd.random() < 0.4)
    return replace(group, topics=topics, members=members, config={AFFINITY: affinity})


def misses_of(group):
    """(partition, member id) -> number of rack misses, by definition."""
    labels = {each.member_id: set(filter(None, each.config[LABELS].split(","))) for each in group.members}
    affinity = dict(part.split(":") for part in group.config[AFFINITY].split(",") if part)
    misses = Counter()
    for topic, known in group.topics.items():
        subscribers = [each for each in group.members if topic in each.topics]
        wanted = set(affinity.get(topic, "").split(";")) - {""}
        somebody_matches = any(wanted <= labels[each.member_id] for each in subscribers)
        for number in range(known.partitions):
            row = known.racks[number] if known.racks else ()
            somebody_near = any(each.rack in row for each in subscribers)
            for each in subscribers:
                far = somebody_near and each.rack is not None and each.rack not in row
                unlike = somebody_matches and not wanted <= labels[each.member_id]
                misses[(topic, number), each.member_id] = far + unlike
    return misses


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples())
def test_rack_aware_sticky_has_the_best_balance_then_the_fewest_misses_then_the_fewest_moves(seed):
    group = placed_group(seed)
    owners, misses = valid_owners(group), misses_of(group)

    def rate(choice):
        loads = Counter(choice.values())
        return (
            sorted((loads[each.member_id] for each in group.members), reverse=True),
            sum(misses[pair, owner] for pair, owner in choice.items()),
            sum(choice.get(pair) != owner for pair, owner in owners.items()),
        )

    best = min(map(rate, every_assignment(group)))
    assignment = STRATEGY.assign(group)
    choice = {pair: member_id for member_id, topics in assignment.target.items() for pair in pairs(topics)}
    assert rate(choice) == best
    quality = judge(group, assignment, STRATEGY)
    assert (quality.imbalance, quality.skew_ratio, quality.moved) == (0, 1.0, best[2])


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples())
def test_a_settled_group_is_unchanged(seed):
    group = placed_group(seed)
    target = STRATEGY.assign(group).target
    settled = replace(
        group, members=tuple(replace(each, owned=target[each.member_id], generation=9) for each in group.members)
    )
    assert STRATEGY.assign(settled).target == target


@given(group=groups())
@settings(max_examples=examples())
def test_without_racks_and_labels_it_equals_sticky(group):
    rackless = replace(group, members=tuple(replace(each, rack=None, user_data=None) for each in group.members))
    assert STRATEGY.assign(rackless) == STRATEGIES["sticky"].assign(rackless)


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples())
def test_sticky_has_the_best_balance_then_the_fewest_moves_then_the_fewest_rack_misses(name, seed):
    group = replace(placed_group(seed), config={AFFINITY: ""})
    group = replace(group, members=tuple(replace(each, config={LABELS: ""}, generation=1) for each in group.members))
    owners, misses = valid_owners(group), misses_of(group)

    def rate(choice):
        loads = Counter(choice.values())
        return (
            sorted((loads[each.member_id] for each in group.members), reverse=True),
            sum(choice.get(pair) != owner for pair, owner in owners.items()),
            sum(misses[pair, owner] for pair, owner in choice.items()),
        )

    target = STRATEGIES[name].assign(group).target
    choice = {pair: member_id for member_id, topics in target.items() for pair in pairs(topics)}
    assert rate(choice) == min(map(rate, every_assignment(group)))
