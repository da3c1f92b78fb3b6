"""``weighted-sticky`` with shares of every topic: their bounds, the balance of all topics together, and moves."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge, strategy
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import GroupSubscription
from support.assignors.fleets import CHANGES, changed, random_fleet, settled
from support.assignors.rules import WEIGHT, check, every_assignment, group, knotty_groups, member, valid_owners
from support.examples import examples

SCOPE = "assignment.weight.scope"
NAMES = ["weighted-sticky", "cooperative-weighted-sticky"]
SEEDS = st.integers(0, 2**32)


def by_topic(subject: GroupSubscription) -> GroupSubscription:
    return replace(subject, config={SCOPE: "topic"})


def shares(subject, topic):
    weights = {each.member_id: int(each.config[WEIGHT]) for each in subject.members if topic in each.topics}
    whole = sum(weights.values())
    return {name: Fraction(subject.topics[topic].partitions * weight, whole) for name, weight in weights.items()}


def weighted_fleet(seed):
    return by_topic(random_fleet(random.Random(seed)))


def test_every_topic_and_all_together_are_divided_by_weight():
    members = (member(name, "t u v", config={WEIGHT: weight}) for name, weight in (("a", "3"), ("b", "1")))
    subject = group({"t": 4, "u": 4, "v": 2}, *members)
    over_all = strategy("weighted-sticky").assign(replace(subject, config={SCOPE: "all"}))
    assert over_all == strategy("weighted-sticky").assign(subject)
    assert {name: len(pairs(given)) for name, given in over_all.members.items()} == {"a": 8, "b": 2}
    divided = strategy("weighted-sticky").assign(by_topic(subject)).members
    assert {name: [len(given.get(topic, ())) for topic in "tuv"] for name, given in divided.items()} == {
        "a": [3, 3, 2],
        "b": [1, 1, 0],
    }


def test_shares_over_all_topics_may_leave_a_topic_to_a_light_member():
    # The problem of counting over all topics: all of u is on b, although a has three times its weight.
    owned = {"a": {"t": tuple(range(12))}, "b": {"u": tuple(range(4))}}
    subject = group(
        {"t": 12, "u": 4},
        *(member(n, "t u", owned=owned[n], generation=1, config={WEIGHT: w}) for n, w in (("a", "3"), ("b", "1"))),
    )
    assert strategy("weighted-sticky").assign(subject).members == owned
    divided = strategy("weighted-sticky").assign(by_topic(subject)).members
    assert {name: [len(given[topic]) for topic in "tu"] for name, given in divided.items()} == {
        "a": [9, 3],
        "b": [3, 1],
    }


def test_invalid_scopes_are_refused():
    with pytest.raises(AssignmentError, match=f"^{SCOPE}: must be all or topic, not 'member'"):
        strategy("weighted-sticky").assign(replace(group({"t": 1}, member("a", "t")), config={SCOPE: "member"}))


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS, change=st.sampled_from(CHANGES))
@settings(max_examples=examples())
def test_each_topic_has_its_shares_rounded_down_or_up(name, seed, change):
    before = settled(STRATEGIES[name], weighted_fleet(seed))
    for subject in (before, by_topic(changed(random.Random(seed), before, change))):
        result = STRATEGIES[name].assign(subject)
        check(STRATEGIES[name], subject, result)
        for topic in subject.topics:
            for member_id, share in shares(subject, topic).items():
                assert floor(share) <= len(result.target[member_id].get(topic, ())) <= ceil(share)
        quality = judge(subject, result, STRATEGIES[name])
        assert (quality.imbalance, quality.skew_ratio) == (0, 1.0)


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
@settings(max_examples=examples())
def test_a_settled_weighted_group_is_unchanged(name, seed):
    before = settled(STRATEGIES[name], weighted_fleet(seed))
    assert STRATEGIES[name].assign(before).target == {each.member_id: each.owned for each in before.members}


@given(subject=knotty_groups())
@settings(max_examples=examples())
def test_shares_of_topics_then_over_all_then_moves_are_optimal(subject):
    subject = by_topic(replace(subject, members=tuple(replace(each, generation=1) for each in subject.members)))
    weights = {each.member_id: int(each.config[WEIGHT]) for each in subject.members}
    owners = valid_owners(subject)
    bounds = {topic: shares(subject, topic) for topic in subject.topics}

    def fair(choice):
        counts = Counter((topic, member_id) for (topic, _), member_id in choice.items())
        return all(
            floor(share) <= counts[topic, member_id] <= ceil(share)
            for topic, of_topic in bounds.items()
            for member_id, share in of_topic.items()
        )

    def cost(choice):
        loads = Counter(choice.values())
        uneven = sum(Fraction(load**2, weights[member_id]) for member_id, load in loads.items())
        return uneven, sum(choice.get(pair) != owner for pair, owner in owners.items())

    target = STRATEGIES["weighted-sticky"].assign(subject).target
    choice = {pair: member_id for member_id, topics in target.items() for pair in pairs(topics)}
    assert fair(choice)
    assert cost(choice) == min(cost(other) for other in every_assignment(subject) if fair(other))
