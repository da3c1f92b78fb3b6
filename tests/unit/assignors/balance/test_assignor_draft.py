"""Cases in which a draft must be optimal without a search, and cases in which it must not claim that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.assignors.balance.bounds import bounds
from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.draft import draft
from rebalance_agent.assignors.balance.group_levels import split_levels
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.balance.releasing import release
from rebalance_agent.assignors.roster import prepare_roster
from support.assignors.mixed import random_half
from support.assignors.rules import group, member


def drafted(subscription):
    roster = prepare_roster(subscription)
    promised = by_count(roster)
    return draft(roster, promised.floors, promised.ranks, promised.levels)


def settled(subscription):
    target = strategy("weighted-sticky").assign(subscription).target
    return replace(
        subscription,
        members=tuple(replace(each, owned=target[each.member_id], generation=1) for each in subscription.members),
    )


class TestProof:
    def test_mixed_subscriptions_need_no_search_at_first(self):
        assert drafted(random_half(60, 20, 40)).proven

    def test_mixed_subscriptions_need_no_search_when_a_member_leaves(self):
        before = settled(random_half(60, 20, 40))
        assert drafted(replace(before, members=before.members[1:])).proven

    def test_mixed_subscriptions_need_no_search_when_a_member_joins(self):
        before = settled(random_half(60, 20, 40))
        newcomer = replace(before.members[0], member_id="new", owned={})
        assert drafted(replace(before, members=(*before.members, newcomer))).proven

    def test_levels_need_no_search_when_a_member_joins_the_crowded_one(self):
        before = settled(
            group(
                {"a": 40, "b": 15},
                *(member(f"crowded-{place}", "a") for place in range(4)),
                *(member(f"calm-{place}", "b") for place in range(6)),
            )
        )
        found = drafted(replace(before, members=(*before.members, member("new", "a"))))
        assert found.proven
        assert sorted(found.placement.loads) == [2, 2, 2, 3, 3, 3, 8, 8, 8, 8, 8]

    def test_a_draft_with_too_many_moves_is_not_accepted_as_optimal(self):
        # The draft gives the gap in g to x, although y needs it: y then takes a partition from w that w could have
        # kept.
        unlucky = group(
            {"g": 1, "h": 3, "k": 2},
            member("w", "k", owned={"k": (0, 1)}, generation=1),
            member("x", "g h"),
            member("y", "g k"),
            member("z", "h", owned={"h": (0, 1, 2)}, generation=1),
        )
        assert not drafted(unlucky).proven
        quality = judge(unlucky, strategy("weighted-sticky").assign(unlucky))
        assert (quality.moved, quality.moved_min) == (1, 1)


class TestBounds:
    def test_members_of_the_lowest_ranks_get_one_more_partition(self):
        limits = bounds(range(4), (2, 2, 1, 3), (5, 5, 0, NO_EXTRA), (0, 0, 0, 0), 10)
        assert (limits.min_loads, limits.max_loads) == ([2, 2, 2, 3], [3, 3, 2, 3])

    def test_kept_partitions_are_limited_by_the_members_that_may_round_up(self):
        assert bounds(range(3), (1, 1, 1), (0, 0, 0), (2, 2, 0), 4).kept == 3

    @pytest.mark.parametrize("partitions", [2, 7])
    def test_inconsistent_loads_have_no_bounds(self, partitions):
        assert bounds(range(3), (1, 1, 1), (0, 0, 0), (0, 0, 0), partitions) is None


def test_a_topic_belongs_to_the_lowest_level_that_subscribes_to_it():
    roster = prepare_roster(
        group(
            {"a": 9, "b": 2},
            member("high", "a b", owned={"b": (1,)}, generation=1),
            member("low", "b", owned={"b": (0,)}, generation=1),
        )
    )
    split = split_levels(roster, (9, 2))
    assert [(list(members), list(topics)) for members, topics in split.levels] == [([1], [1]), ([0], [0])]
    assert list(map(list, split.subscribers)) == [[0], [1]]
    assert split.outside == [(1, 0)]


class TestRelease:
    def test_a_newcomer_gets_partitions_of_every_topic(self):
        plan = [dict.fromkeys("abcd", (number,)) for number in range(4)]
        freed = release(plan, [4] * 4, [3] * 4)
        assert sorted(freed) == ["a", "b", "c", "d"]
        assert list(map(len, plan)) == [3] * 4
