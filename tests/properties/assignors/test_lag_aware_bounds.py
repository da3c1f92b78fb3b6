"""``lag-aware`` keeps its limits and its promised balance, compared with all assignments of small groups."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.model.partitions import count_partitions, pairs
from rebalance_agent.model.subscription import TopicMetadata
from support.assignors.rules import every_assignment, groups, knotty_group, valid_owners
from support.examples import examples

MAX_MOVES = "assignment.max.moves"
COUNT_FACTOR = "assignment.max.count.factor"
STRATEGY = STRATEGIES["lag-aware"]
SEEDS = st.integers(0, 2**32)


def loaded_group(seed, *, uniform=False, config=None):
    rnd = random.Random(seed)
    group = knotty_group(seed)
    kinds = [(0, 1), (1, 2, 3, 4), tuple(range(50)), (0.0, 0.1, 0.2, 0.30000000000000004, 1e15)]
    some = rnd.choice(kinds)
    topics = {
        name: TopicMetadata(known.partitions, loads=tuple(rnd.choice(some) for _ in range(known.partitions)))
        for name, known in group.topics.items()
    }
    members = [replace(each, config={}) for each in group.members]
    if uniform or rnd.random() < 0.3:
        members = [replace(each, topics=tuple(topics)) for each in members]
    drawn = {MAX_MOVES: str(rnd.choice([0, 1, 2, 3, 100])), COUNT_FACTOR: rnd.choice(["1", "1.5", "2.0", "100"])}
    return replace(group, topics=topics, members=tuple(members), config=drawn if config is None else config)


def choice_of(target):
    return {pair: member_id for member_id, topics in target.items() for pair in pairs(topics)}


def maximum(group, choice):
    loads = Counter()
    for (topic, number), member_id in choice.items():
        loads[member_id] += Fraction(group.topics[topic].loads[number])
    return max(loads.values(), default=0)


def least_maximum(loads, members):
    """The lowest possible `maximum` if every member may own every partition, by a search of all choices that could be
    better."""
    loads, heights, best = sorted(loads, reverse=True), [0] * members, sum(loads)

    def place(index):
        nonlocal best
        if max(heights) >= best:
            return
        if index == len(loads):
            best = max(heights)
            return
        for one_of_equals in {height: at for at, height in enumerate(heights)}.values():
            heights[one_of_equals] += loads[index]
            place(index + 1)
            heights[one_of_equals] -= loads[index]

    place(0)
    return best


def moves(choice, owners):
    return sum(choice.get(pair) != owner for pair, owner in owners.items())


def limits_of(group):
    factor = Fraction(group.config.get(COUNT_FACTOR, "2.0"))
    targets = STRATEGIES["sticky"].targets(replace(group, config={}))
    return {member_id: math.ceil(factor * target) for member_id, target in targets.items()}


def within(choice, limits):
    counts = Counter(choice.values())
    return all(counts[member_id] <= limit for member_id, limit in limits.items())


def settled(group, target, generation=9):
    members = [replace(each, owned=target[each.member_id], generation=generation) for each in group.members]
    return replace(group, members=tuple(members))


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_counts_and_moves_stay_within_their_limits(seed):
    group = loaded_group(seed)
    owners, limits = valid_owners(group), limits_of(group)
    assignment = STRATEGY.assign(group)
    choice = choice_of(assignment.target)
    assert within(choice, limits)
    needed = min(moves(other, owners) for other in every_assignment(group) if within(other, limits))
    assert moves(choice, owners) <= max(int(group.config[MAX_MOVES]), needed)
    quality = judge(group, assignment, STRATEGY)
    assert (quality.imbalance, quality.skew_ratio, quality.unassigned) == (0, 1.0, 0)


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_moving_never_makes_the_highest_load_higher(seed):
    group = loaded_group(seed)
    rnd = random.Random(seed)
    limits = limits_of(group)
    everything = [choice for choice in every_assignment(group) if within(choice, limits)]
    before = rnd.choice(everything)
    target = {each.member_id: {} for each in group.members}
    for (topic, number), member_id in sorted(before.items()):
        target[member_id][topic] = (*target[member_id].get(topic, ()), number)
    group = settled(group, target)
    after = choice_of(STRATEGY.assign(group).target)
    assert maximum(group, after) <= maximum(group, before)


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_with_equal_subscriptions_and_free_moves_the_result_is_at_most_a_third_above_the_optimum(seed):
    group = loaded_group(seed, uniform=True, config={COUNT_FACTOR: "100"})
    loads = [Fraction(load) for known in group.topics.values() for load in known.loads]
    optimum = least_maximum(loads, len(group.members))
    assert maximum(group, choice_of(STRATEGY.assign(group).target)) <= Fraction(4, 3) * optimum


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_a_settled_group_is_unchanged(seed):
    group = loaded_group(seed)
    group = replace(group, config={COUNT_FACTOR: group.config[COUNT_FACTOR]})
    target = STRATEGY.assign(group).target
    assert STRATEGY.assign(settled(group, target)).target == target


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_few_moves_at_a_time_lead_to_a_stable_state(seed):
    group = loaded_group(seed, config={MAX_MOVES: "1"})
    highest = None
    for generation in range(5, 40):
        target = STRATEGY.assign(group).target
        now = maximum(group, choice_of(target))
        assert highest is None or now <= highest
        highest = now
        again = settled(group, target, generation)
        if STRATEGY.assign(again).target == target:
            return
        group = again
    raise AssertionError("never settles")


@given(group=groups())
@settings(max_examples=examples())
def test_equal_loads_are_sticky(group):
    topics = {
        name: TopicMetadata(known.partitions, loads=(7.5,) * known.partitions) for name, known in group.topics.items()
    }
    for subject in (group, replace(group, topics=topics)):
        assert STRATEGY.assign(subject) == STRATEGIES["sticky"].assign(subject)


@given(seed=SEEDS, odd=st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 10**400, None]))
@settings(max_examples=examples(50))
def test_an_unknown_load_counts_as_one(seed, odd):
    group = loaded_group(seed)
    name = min(group.topics)
    known = group.topics[name]
    one = replace(known, loads=(*known.loads[:-1], 1.0))
    strange = replace(known, loads=known.loads[:-1] if odd is None else (*known.loads[:-1], odd))
    expected = STRATEGY.assign(replace(group, topics={**group.topics, name: one}))
    assert STRATEGY.assign(replace(group, topics={**group.topics, name: strange})) == expected
    assert sum(map(count_partitions, expected.target.values())) == len(choice_of(expected.target))
