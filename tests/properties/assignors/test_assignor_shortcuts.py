"""Every shortcut of the assignor core gives the same result as the general algorithm."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors.balance import dealing, placement, promise
from rebalance_agent.assignors.balance.counts import NO_EXTRA
from rebalance_agent.assignors.balance.exact import cheapest_flow
from rebalance_agent.assignors.balance.placement import place_partitions
from rebalance_agent.assignors.balance.promise import by_weight
from rebalance_agent.assignors.balance.releasing import release
from rebalance_agent.assignors.balance.slices import deal_all
from rebalance_agent.assignors.claims import settle
from rebalance_agent.assignors.ownership_index import build_index, settle_all
from rebalance_agent.assignors.roster import prepare_roster
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata
from support.assignors.mixed import mixed_groups
from support.assignors.rules import groups, knotty_groups
from support.examples import examples

TANGLED = mixed_groups() | knotty_groups()
WEIGHTS = st.just([1] * 10) | st.lists(st.integers(1, 9), min_size=10, max_size=10)


def kept_in_place(roster, plan):
    return sum(
        len(set(numbers).intersection(plan[member].get(topic, ())))
        for topic, ownership in zip(roster.topics, roster.ownership, strict=True)
        for member, numbers in ownership.owned.items()
    )


@given(group=TANGLED, weights=WEIGHTS)
@settings(max_examples=examples())
def test_the_balance_is_equally_good_with_and_without_the_draft(group, weights):
    roster = prepare_roster(group)
    promised = by_weight(roster, weights[: len(roster.members)])
    plan = dealing.deal_balanced(roster, promised)
    with mock.patch.object(placement, "draft", return_value=None):
        searched = dealing.deal_balanced(prepare_roster(group), promised)
    loads, most = [list(map(count_partitions, some)) for some in (plan, searched)]
    assert promised.strain(loads) == promised.strain(most)
    assert None not in {promised.strain(loads), promised.strain(most)}
    assert kept_in_place(roster, plan) == kept_in_place(roster, searched)


@given(group=TANGLED, weights=WEIGHTS)
@settings(max_examples=examples())
def test_one_level_is_detected_only_if_a_flow_finds_one(group, weights):
    roster = prepare_roster(group)
    some = weights[: len(roster.members)]
    seen = by_weight(roster, some)
    with mock.patch.object(promise, "shows_one_level", return_value=False):
        assert by_weight(prepare_roster(group), some) == seen


@given(group=TANGLED, data=st.data())
@settings(max_examples=examples())
def test_any_loads_are_placed_with_as_few_moves_as_by_search(group, data):
    roster = prepare_roster(group)
    loads = [0] * len(roster.members)
    for count, places in zip(roster.partitions, roster.subscribers, strict=True):
        for _ in range(count):
            loads[data.draw(st.sampled_from(places))] += 1
    none = [NO_EXTRA] * len(loads)
    found, searched = place_partitions(roster, loads, none), cheapest_flow(roster, loads, none)
    assert list(found.loads) == list(searched.loads) == loads
    assert found.kept == searched.kept


@given(group=TANGLED, levels=st.lists(st.integers(0, 2), min_size=10, max_size=10))
@settings(max_examples=examples())
def test_wrong_levels_do_not_change_the_quality_of_a_placement(group, levels):
    roster = prepare_roster(group)
    promised = by_weight(roster, [1] * len(roster.members))
    found = place_partitions(roster, promised.floors, promised.ranks, levels=levels[: len(roster.members)])
    searched = cheapest_flow(roster, promised.floors, promised.ranks)
    assert (promised.strain(found.loads), found.kept) == (promised.strain(searched.loads), searched.kept)


@given(group=TANGLED)
@settings(max_examples=examples())
def test_counts_of_a_placement_add_up(group):
    roster = prepare_roster(group)
    promised = by_weight(roster, [1] * len(roster.members))
    placed = place_partitions(roster, promised.floors, promised.ranks, levels=promised.levels)
    assert placed.kept == sum(kept for counts in placed.counts for kept, _ in counts.values())
    for counts, partitions in zip(placed.counts, roster.partitions, strict=True):
        assert sum(kept + new for kept, new in counts.values()) == partitions
    for member, load in enumerate(placed.loads):
        assert load == sum(sum(counts.get(member, (0, 0))) for counts in placed.counts)


@given(group=groups() | mixed_groups())
@settings(max_examples=examples())
def test_claims_resolved_at_once_equal_those_resolved_one_by_one(group):
    roster = prepare_roster(group)
    claims = [(each.generation, each.owned) for each in roster.members]
    topics = dict(zip(roster.topics, roster.partitions, strict=True))
    ledger = settle_all(claims, topics, roster.subscribers, [each.topics for each in roster.members])
    holdings = [{} for _ in claims]
    for place_, topic in enumerate(roster.topics):
        some = [(dated, member, owned[topic]) for member, (dated, owned) in enumerate(claims) if topic in owned]
        plain = settle(some, roster.partitions[place_], roster.subscribers[place_])
        assert ledger.ownership[place_] == plain
        assert list(ledger.ownership[place_].owned) == sorted(plain.owned)
        owned = {number for numbers in plain.owned.values() for number in numbers}
        assert list(ledger.gaps[place_]) == [n for n in range(roster.partitions[place_]) if n not in owned]
        for member, numbers in plain.owned.items():
            holdings[member][topic] = numbers
    assert list(ledger.holdings) == holdings
    again = build_index(tuple(ledger.ownership), topics, len(claims))
    assert ([*map(list, again.gaps)], list(again.holdings)) == ([*map(list, ledger.gaps)], holdings)


@given(
    counts=st.lists(st.integers(1, 12), max_size=6), members=st.integers(1, 8), seed=st.randoms(use_true_random=False)
)
@settings(max_examples=examples())
def test_slices_equal_a_round_robin_deal(counts, members, seed):
    topics = {f"t{place}": TopicMetadata(count) for place, count in enumerate(counts)}
    roster = prepare_roster(
        GroupSubscription(topics, tuple(MemberSubscription(f"m{place}", tuple(topics)) for place in range(members)))
    )
    takers = seed.sample(range(members), members)
    dealt = [{} for _ in range(members)]
    turn = 0
    for topic, known in topics.items():
        for number in range(known.partitions):
            hand = dealt[takers[turn % members]]
            hand[topic] = (*hand.get(topic, ()), number)
            turn += 1
    assert deal_all(roster, takers) == dealt


@given(
    owned=st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9), max_size=5), max_size=6),
    data=st.data(),
)
@settings(max_examples=examples())
def test_release_keeps_each_members_load_and_frees_other_partitions(owned, data):
    plan = [{topic: tuple(range(count)) for topic, count in topics.items()} for topics in owned]
    have = list(map(count_partitions, plan))
    loads = [data.draw(st.integers(0, count + 2)) for count in have]
    before = [dict(topics) for topics in plan]
    freed = release(plan, have, loads)
    assert list(map(count_partitions, plan)) == list(map(min, have, loads))
    for topic in "abcde":
        all_numbers = sorted(number for topics in before for number in topics.get(topic, ()))
        left = [number for topics in plan for number in topics.get(topic, ())]
        assert sorted([*left, *freed.get(topic, ())]) == all_numbers
    assert all(numbers == tuple(sorted(numbers)) and numbers for topics in plan for numbers in topics.values())
