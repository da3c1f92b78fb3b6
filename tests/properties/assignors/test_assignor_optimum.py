"""Balance, moves and shares compared with a brute-force search of all assignments of small groups."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import floor

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.assignors.balance.shares import fair_densities
from rebalance_agent.model.partitions import pairs, topic_partitions
from rebalance_agent.model.subscription import GroupAssignment
from support.assignors.rules import WEIGHT, every_assignment, knotty_groups, valid_owners
from support.examples import examples


def loads_of(choice, group):
    count = Counter(choice.values())
    return [count[each.member_id] for each in group.members]


def moves_of(choice, owners):
    return sum(choice.get(pair) != owner for pair, owner in owners.items())


def as_choice(target):
    return {pair: member_id for member_id, topics in target.items() for pair in pairs(topics)}


def without_weights(group):
    return replace(group, members=tuple(replace(each, config={}) for each in group.members))


@given(group=knotty_groups())
@settings(max_examples=examples())
def test_equal_weights_reach_the_best_balance_with_the_fewest_moves(group):
    group = without_weights(group)
    owners = valid_owners(group)
    best = min(
        (
            (sorted(loads_of(choice, group), reverse=True), moves_of(choice, owners))
            for choice in every_assignment(group)
        ),
    )
    assignment = STRATEGIES["weighted-sticky"].assign(group)
    choice = as_choice(assignment.target)
    assert (sorted(loads_of(choice, group), reverse=True), moves_of(choice, owners)) == best
    quality = judge(group, assignment, STRATEGIES["weighted-sticky"])
    assert (quality.imbalance, quality.skew_ratio, quality.moved, quality.moved_min) == (0, 1.0, best[1], best[1])


@given(group=knotty_groups(), data=st.data())
@settings(max_examples=examples())
def test_the_minimum_of_moves_is_that_of_assignments_with_the_same_loads(group, data):
    owners = valid_owners(group)
    choices = list(itertools.islice(every_assignment(group), 5000))
    given_choice = data.draw(st.sampled_from(choices))
    target = {
        each.member_id: topic_partitions(
            pair for pair, member_id in given_choice.items() if member_id == each.member_id
        )
        for each in group.members
    }
    loads = sorted(loads_of(given_choice, group))
    fewest = min(
        moves_of(choice, owners) for choice in every_assignment(group) if sorted(loads_of(choice, group)) == loads
    )
    quality = judge(group, GroupAssignment(members=target, target=target))
    assert quality.moved == moves_of(given_choice, owners)
    assert quality.moved_min == fewest


def plain_densities(group, weights):
    """The fair levels by definition: repeatedly the set of members most crowded by topics that only they subscribe
    to."""
    left = dict(enumerate(group.members))
    topics = {
        name: {place for place, each in left.items() if name in each.topics}
        for name, known in group.topics.items()
        if known.partitions
    }
    topics = {name: places for name, places in topics.items() if places}
    densities = [Fraction(0)] * len(weights)
    while topics:
        best = (Fraction(-1), 0, ())
        for size in range(1, len(left) + 1):
            for some in itertools.combinations(left, size):
                own = sum(group.topics[name].partitions for name, places in topics.items() if places <= set(some))
                best = max(best, (Fraction(own, sum(weights[place] for place in some)), size, some))
        density, _, crowded = best
        for place in crowded:
            densities[place] = density
            del left[place]
        topics = {name: places - set(crowded) for name, places in topics.items() if not places <= set(crowded)}
    return densities


@given(group=knotty_groups(), data=st.data())
@settings(max_examples=examples())
def test_fair_shares_follow_their_definition(group, data):
    weights = [data.draw(st.integers(1, 9)) for _ in group.members]
    names = [
        name
        for name, known in group.topics.items()
        if known.partitions and any(name in each.topics for each in group.members)
    ]
    found = fair_densities(
        [group.topics[name].partitions for name in names],
        [tuple(place for place, each in enumerate(group.members) if name in each.topics) for name in names],
        weights,
    )
    assert found == plain_densities(group, weights)


@given(group=knotty_groups())
@settings(max_examples=examples())
def test_weights_are_rounded_by_largest_remainder_within_what_subscriptions_allow(group):
    weights = [int(each.config.get(WEIGHT, 1)) for each in group.members]
    densities = plain_densities(group, weights)
    shares = [density * weight for density, weight in zip(densities, weights, strict=True)]
    totals = Counter()
    for density, share in zip(densities, shares, strict=True):
        totals[density] += share
    owners = valid_owners(group)

    def deviation(loads):
        """None if out of bounds; otherwise the squared distance to the shares, which largest remainders minimise."""
        by_level = Counter()
        for density, load in zip(densities, loads, strict=True):
            by_level[density] += load
        if by_level != totals or any(
            not floor(share) <= load < share + 1 for share, load in zip(shares, loads, strict=True)
        ):
            return None
        return sum((load - share) ** 2 for share, load in zip(shares, loads, strict=True))

    rated = [
        (distance, moves_of(choice, owners))
        for choice in every_assignment(group)
        if (distance := deviation(loads_of(choice, group))) is not None
    ]
    strategy = STRATEGIES["weighted-sticky"]
    choice = as_choice(strategy.assign(group).target)
    distance, moves = deviation(loads_of(choice, group)), moves_of(choice, owners)
    if len(set(weights)) > 1:
        assert (distance, moves) == min(rated)
    else:
        # Equal weights may also exchange one more partition between levels of the same integer load, with fewer moves.
        assert moves <= min(rated)[1]
