"""Topics on a single host are found if a strategy puts them there, and never if chance does."""

from __future__ import annotations

import random

import pytest

from rebalance_agent.assignors import STRATEGIES, judgement, strategy
from rebalance_agent.assignors.hosts.topic_hosts import CHANCE_MAX
from rebalance_agent.model.subscription import GroupAssignment
from support.assignors.on_hosts import OnHosts
from support.assignors.rules import WEIGHT, group, member

ALERT_RATIO = 0.5
"""The share of topics above which the alert fires."""

BALANCED_STRATEGIES = ("sticky", "cooperative-sticky", "roundrobin", "shuffled-roundrobin")


def spread(subject, owned, hosts, name=None):
    """``owned``: member -> its partitions; ``hosts``: the members' hosts, separated by spaces."""
    given = GroupAssignment(owned, owned)
    names = dict(zip(sorted(owned), hosts.split(), strict=True))
    return judgement(subject, given, strategy(name) if name else None, names).host_spread


def test_eighty_topics_by_pattern_and_round_robin_are_each_on_one_host_although_skew_and_member_spread_are_best():
    judged = OnHosts(random.Random(1), hosts=4, each=3, topics=[3] * 80).assigned_by("roundrobin")
    assert (judged.quality.skew_ratio, set(judged.quality.topic_spread.values())) == (1, {1})
    found = judged.host_spread
    assert (found.topics, found.on_one_host, found.hosts) == (80, 80, 4)
    assert (found.ratio, found.clustered_ratio) == (pytest.approx(1 / 3), 1)


def test_shuffled_roundrobin_spreads_topics_over_hosts():
    cured = OnHosts(random.Random(1), hosts=4, each=3, topics=[3] * 80).assigned_by("shuffled-roundrobin").host_spread
    assert (cured.topics, cured.on_one_host, cured.ratio) == (80, 0, 1)


@pytest.mark.parametrize("seed", range(20))
def test_clusters_are_found(seed):
    draw = random.Random(seed)
    partitions = draw.randint(2, 5)
    hosts, each = draw.randint(2 if partitions > 2 else 3, 8), partitions * draw.randint(1, 3)
    clustered = OnHosts(draw, hosts, each, topics=[partitions] * draw.randint(20, 200))
    found = clustered.assigned_by(draw.choice(("roundrobin", "range"))).host_spread
    assert found.clustered_ratio > ALERT_RATIO


@pytest.mark.no_cover  # many random groups that execute the same lines as other tests
@pytest.mark.parametrize("part", range(10))
def test_balanced_groups_are_never_reported_as_clustered(part):
    """A thousand groups: 500 dealt at random, 500 by strategies to members whose order does not follow their hosts."""
    for seed in range(100 * part, 100 * part + 100):
        draw = random.Random(seed)
        hosts, each = draw.randint(2, 8), draw.randint(1, 6)
        topics = [draw.randint(1, 6) for _ in range(draw.randint(1, draw.choice((5, 100))))]
        balanced = OnHosts(draw, hosts, each, topics, named=False)
        if seed % 2:
            found = balanced.dealt_at_random(draw)
        else:
            found = balanced.assigned_by(draw.choice(BALANCED_STRATEGIES)).host_spread
        assert found is None or found.clustered_ratio <= ALERT_RATIO, seed


@pytest.mark.no_cover
def test_the_bound_of_chance_holds_for_random_distributions():
    """Counts of topics above the bound's 1 % quantile occur in at most this many distributions."""
    draw, runs = random.Random(7), 2_000
    subject = OnHosts(draw, hosts=3, each=2, topics=[2, 2, 3, 2, 3, 2, 2, 3, 2, 2])
    found = [subject.dealt_at_random(draw) for _ in range(runs)]
    assert sum(each.chance <= 0.01 for each in found) <= 0.01 * runs
    assert all(each.chance > CHANCE_MAX for each in found)


def test_a_few_topics_can_be_on_one_host_by_chance():
    one = OnHosts(random.Random(2), hosts=4, each=3, topics=[3])
    found = one.assigned_by("roundrobin").host_spread
    assert (found.topics, found.on_one_host, found.one_host_ratio, found.clustered_ratio) == (1, 1, 1, 0)


@pytest.mark.parametrize("name", [name for name, each in STRATEGIES.items() if each.passive_members])
def test_passive_members_are_no_possible_owners(name):
    passive = OnHosts(random.Random(3), hosts=3, each=1, topics=[4] * 40)
    assert passive.assigned_by(name).host_spread is None


def test_hosts_with_more_weight_own_more_partitions():
    chosen = strategy("weighted-sticky")
    weights = {"a": "98", "b": "1", "c": "1"}
    members = [
        member(name, " ".join(f"t{n}" for n in range(50)), user_data=chosen.user_data({WEIGHT: weight}, {}))
        for name, weight in weights.items()
    ]
    subject = group({f"t{n}": 2 for n in range(50)}, *members)
    judged = judgement(subject, chosen.assign(subject), chosen, {"a": "x", "b": "y", "c": "z"})
    assert judged.host_spread.one_host_ratio > 0.9
    assert judged.host_spread.clustered_ratio == 0


def test_a_host_filled_by_other_topics_is_no_possible_owner():
    names = [f"t{n}" for n in range(50)]
    subject = group(
        {"own": 100} | dict.fromkeys(names, 2), member("a", " ".join(["own", *names])), member("b", " ".join(names))
    )
    owned = {"a": {"own": tuple(range(100))}, "b": dict.fromkeys(names, (0, 1))}
    assert spread(subject, owned, "x y") is None
    idle = {"a": dict.fromkeys(names, (0, 1)), "b": {}}
    assert spread(subject, idle, "x y").clustered_ratio == 1


def test_only_topics_with_several_partitions_and_possible_hosts_count():
    subject = group(
        {"t": 4, "one": 1, "mine": 2}, member("a", "t one mine"), member("b", "t one"), member("c", "t one")
    )
    owned = {"a": {"mine": (0, 1), "one": (0,)}, "b": {"t": (0, 1)}, "c": {"t": (2, 3)}}
    assert spread(subject, owned, "x x x") is None
    found = spread(subject, owned, "x y y")
    assert (found.topics, found.on_one_host, found.hosts, found.ratio) == (1, 1, 2, 0.5)
    assert spread(subject, owned, "x y z").on_one_host == 0


def test_partitions_that_do_not_exist_and_members_without_an_assignment_change_nothing():
    subject = group({"t": 2, "u": 2}, member("a", "t u"), member("b", "t u"))
    owned = {"a": {"t": (0, 1), "gone": (0, 1)}, "b": {"u": (0,)}}
    found = spread(subject, owned, "x y")
    assert (found.topics, found.on_one_host) == (1, 1)
