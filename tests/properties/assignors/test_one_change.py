"""One topic, partition or member more or less moves few partitions: the bounds of docs/strategies/README.md."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge, units
from rebalance_agent.model.partitions import pairs
from support.assignors.fleets import CHANGES, changed, host, random_fleet, settled
from support.assignors.rules import valid_owners
from support.assignors.standbys import STANDBYS, STATE_FACTOR, awaited, kind_of, owners, rebalances
from support.assignors.standbys import settled as with_copies
from support.examples import examples

UNITS = [name for name, each in STRATEGIES.items() if each.plan.__module__.startswith(units.__name__)]
INEXACT = {*UNITS, "range", "redundant", "roundrobin", "shuffled-roundrobin"}
"""Strategies that balance units or copies, deal in a fixed order, or move partitions away from one host."""
EXACT = [name for name in STRATEGIES if name not in INEXACT]
SEEDS = st.integers(0, 2**32)


def after_one(name, seed, change):
    """The group before and after one change, its assignment, and the assignment's quality."""
    rnd = random.Random(seed)
    before = settled(STRATEGIES[name], random_fleet(rnd))
    after = changed(rnd, before, change)
    result = STRATEGIES[name].assign(after)
    return before, after, result, judge(after, result, STRATEGIES[name])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", EXACT)
@given(seed=SEEDS)
@settings(max_examples=examples(20))
def test_exact_strategies_move_no_more_than_their_balance_needs(name, change, seed):
    *_, quality = after_one(name, seed, change)
    assert quality.moved == quality.moved_min


@pytest.mark.parametrize("change", CHANGES)
@given(seed=SEEDS)
@settings(max_examples=examples())
def test_shuffled_roundrobin_moves_two_more_partitions_for_each_topic_that_it_spreads(change, seed):
    _, after, result, quality = after_one("shuffled-roundrobin", seed, change)
    owners = valid_owners(after)
    now = {pair: member_id for member_id, topics in result.members.items() for pair in pairs(topics)}
    stayed = {pair: host(owner) for pair, owner in owners.items() if now[pair] == owner}
    broken_up = {
        topic
        for topic, known in after.topics.items()
        if known.partitions > 1 and len({at for (name, _), at in stayed.items() if name == topic}) <= 1
    }
    assert quality.imbalance == 0
    assert quality.moved <= quality.moved_min + 2 * len(broken_up)


@pytest.mark.parametrize("change", ["topic added", "topic removed", "partition added", "partition removed"])
@given(seed=SEEDS)
@settings(max_examples=examples())
def test_range_moves_only_partitions_of_the_topic_that_changed(change, seed):
    before, after, result, _ = after_one("range", seed, change)
    touched = {topic for topic in after.topics if before.topics.get(topic) != after.topics[topic]}
    had = {each.member_id: each.owned for each in before.members}
    for member_id, topics in result.members.items():
        for topic, numbers in topics.items():
            assert topic in touched or had[member_id].get(topic) == numbers


@pytest.mark.parametrize("name", UNITS)
@given(seed=SEEDS)
@settings(max_examples=examples())
def test_a_new_topic_moves_no_unit_of_other_topics(name, seed):
    *_, quality = after_one(name, seed, "topic added")
    assert quality.moved == 0


def units(group, owner_of):
    """Unit -> its owner: the partitions with one number of the topics of one kind."""
    kinds = {topic: kind_of(group, topic) for topic in group.topics}
    return {
        (kinds[topic], number): owner
        for (topic, number), owner in owner_of.items()
        if topic in kinds and number < group.topics[topic].partitions
    }


def count_moves(group, before, now):
    """The units that had an owner before, and have another one now."""
    had, has = units(group, before), units(group, now)
    return sum(unit in had and had[unit] != owner for unit, owner in has.items())


ROUNDS_MAX = 3
"""Number of rebalances after which no unit waits for a copy."""


def moves_until_balanced(strategy, group, before):
    """The number of moves of units until none waits for a copy, and the resulting group."""
    moves = 0
    for subject, result in rebalances(strategy, group, ROUNDS_MAX):
        now = owners(result.target)
        moves += count_moves(subject, before, now)
        before, group = now, with_copies(subject, result, 13)
    assert not any(awaited(result, member_id) for member_id in result.members)
    return moves, group


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", [name for name in UNITS if not name.startswith("cooperative-")])
@given(seed=SEEDS)
@settings(max_examples=examples(20))
def test_with_standbys_only_units_of_a_member_that_left_may_move_twice(name, change, seed):
    rnd, strategy, copies = random.Random(seed), STRATEGIES[name], {STANDBYS: "1"}
    fresh = random_fleet(rnd)
    fresh = replace(fresh, members=tuple(replace(each, config={}) for each in fresh.members), config=copies)
    _, before = moves_until_balanced(strategy, fresh, {})
    after = replace(changed(rnd, before, change), config=copies)
    had = {pair: each.member_id for each in before.members for pair in pairs(each.owned)}
    left = {each.member_id for each in before.members} - {each.member_id for each in after.members}
    orphans = sum(owner in left for owner in units(after, had).values())

    least = count_moves(after, had, owners(strategy.assign(replace(after, config=copies | {STATE_FACTOR: "1"})).target))
    moves, _ = moves_until_balanced(strategy, after, had)
    assert least <= moves <= least + orphans
