"""The skew by lag and rate, compared with all possible assignments."""

from __future__ import annotations

import itertools
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.tracking.patterns.loads import min_highest_load, skew_ratio
from rebalance_agent.tracking.views import MemberLoad

TOPICS = ("t", "u", "v")


@st.composite
def groups(draw, most=7):
    """Subscriptions by member, and loads of the partitions that some member could take."""
    subscriptions = draw(st.lists(st.sets(st.sampled_from(TOPICS), min_size=1), min_size=1, max_size=4))
    reachable = sorted(set().union(*subscriptions))
    sizes = [draw(st.integers(0, most // len(reachable))) for _ in reachable]
    partitions = [(topic, number) for topic, size in zip(reachable, sizes, strict=True) for number in range(size)]
    loads = {each: draw(st.integers(0, 9)) for each in partitions}
    return subscriptions, loads


@st.composite
def assigned_groups(draw):
    subscriptions, loads = draw(groups())
    owners = {
        each: draw(st.sampled_from([place for place, some in enumerate(subscriptions) if each[0] in some]))
        for each in loads
    }
    return subscriptions, loads, owners


def members(subscriptions, owners):
    return [
        MemberLoad(
            f"m{place}",
            None,
            "c",
            "h",
            {
                topic: tuple(number for (name, number), owner in owners.items() if owner == place and name == topic)
                for topic in TOPICS
            },
            None,
            tuple(sorted(topics)),
        )
        for place, topics in enumerate(subscriptions)
    ]


def highest(loads, owners):
    by_member = {}
    for each, owner in owners.items():
        by_member[owner] = by_member.get(owner, 0) + loads[each]
    return max(by_member.values(), default=0)


def best(subscriptions, loads):
    """The lowest maximum load over all assignments."""
    choices = [[place for place, some in enumerate(subscriptions) if topic in some] for topic, _ in loads]
    return min(highest(loads, dict(zip(loads, way, strict=True))) for way in itertools.product(*choices))


@given(assigned_groups())
def test_a_ratio_is_at_least_one_and_one_for_the_optimum(group):
    subscriptions, loads, owners = group
    # Loads without an exact float, as rates are.
    ratio = skew_ratio({each: load / 7 for each, load in loads.items()}, members(subscriptions, owners))
    assert ratio >= 1
    if ratio == 1:
        assert highest(loads, owners) == pytest.approx(best(subscriptions, loads), rel=1e-3)


@given(assigned_groups())
def test_the_optimum_lies_between_the_bound_and_twice_the_bound(group):
    subscriptions, loads, owners = group
    bound, optimum = min_highest_load(loads, members(subscriptions, owners)), best(subscriptions, loads)
    assert bound <= optimum * 1.001
    assert optimum <= 2.001 * bound


@given(assigned_groups())
def test_equal_loads_have_the_bound_of_the_best_balance(group):
    subscriptions, loads, owners = group
    equal = dict.fromkeys(loads, 7.0)
    bound = min_highest_load(equal, members(subscriptions, owners)) / 7
    assert ceil(bound - 1e-3) == best(subscriptions, dict.fromkeys(loads, 1))


@given(assigned_groups(), st.randoms(use_true_random=False), st.sampled_from([0.5, 3, 1_000]))
def test_neither_order_nor_scale_changes_a_ratio(group, random, scale):
    subscriptions, loads, owners = group
    shuffled = members(subscriptions, owners)
    random.shuffle(shuffled)
    measured = list(loads.items())
    random.shuffle(measured)
    ratio = skew_ratio(loads, members(subscriptions, owners))
    assert skew_ratio(dict(measured), shuffled) == ratio
    assert skew_ratio({each: load * scale for each, load in loads.items()}, shuffled) == pytest.approx(ratio, rel=1e-3)
