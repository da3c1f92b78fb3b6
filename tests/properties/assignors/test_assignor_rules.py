"""The promises of every strategy, for any group and any history.

Generating a group takes longer than assigning it, so each one is used for all strategies; the last note of a failure
has the strategy's name.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions, pairs
from rebalance_agent.model.subscription import GroupSubscription
from support.assignors.rules import check, groups, next_groups, valid_owners
from support.examples import examples

NAMES = sorted(STRATEGIES)
COOPERATIVE = [name for name in NAMES if STRATEGIES[name].protocol is RebalanceProtocol.COOPERATIVE]
STICKY = [name for name in NAMES if name.removeprefix("cooperative-") in {"sticky", "weighted-sticky"}]
PROMISING = [name for name in NAMES if name not in {"range", "roundrobin"}]
"""Strategies that always keep their promise of balance; both others are Kafka's, which deal in a fixed order."""


def noted(names):
    """The names and strategies, each noted for a failure."""
    for name in names:
        note(name)
        yield name, STRATEGIES[name]


@given(group=groups())
@settings(max_examples=examples(150))
def test_result_is_valid_and_complete(group):
    for _, strategy in noted(NAMES):
        check(strategy, group, strategy.assign(group))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=examples(20))
def test_result_is_valid_after_any_sequence_of_changes(name, data):
    strategy = STRATEGIES[name]
    group = data.draw(groups())
    for generation in range(4, 9):
        assignment = strategy.assign(group)
        check(strategy, group, assignment)
        quality = judge(group, assignment, strategy)
        assert quality.unassigned == 0
        if name in PROMISING:
            assert (quality.imbalance, quality.skew_ratio) == (0, 1.0)
        if name in STICKY:
            assert quality.moved == quality.moved_min
        group = data.draw(next_groups(group, assignment, generation))


@given(group=groups(), seed=st.integers(0, 1000))
@settings(max_examples=examples(60))
def test_order_of_the_input_changes_nothing(group, seed):
    shuffle = random.Random(seed).sample
    members = tuple(
        replace(
            each,
            topics=tuple(shuffle(each.topics, len(each.topics))),
            owned=dict(shuffle(list(each.owned.items()), len(each.owned))),
        )
        for each in shuffle(group.members, len(group.members))
    )
    topics = dict(shuffle(list(group.topics.items()), len(group.topics)))
    for _, strategy in noted(NAMES):
        assert strategy.assign(GroupSubscription(topics, members)) == strategy.assign(group)


@given(group=groups())
@settings(max_examples=examples(60))
def test_an_unchanged_group_moves_nothing(group):
    for _, strategy in noted(PROMISING):
        target = strategy.assign(group).target
        settled = GroupSubscription(
            group.topics, tuple(replace(each, owned=target[each.member_id], generation=9) for each in group.members)
        )
        again = strategy.assign(settled)
        assert again.target == target
        assert not again.revoking


@given(group=groups())
@settings(max_examples=examples(60))
def test_cooperative_rebalance_ends_with_the_follow_up(group):
    for _, strategy in noted(COOPERATIVE):
        _check_follow_up(strategy, group)


def _check_follow_up(strategy, group):
    first = strategy.assign(group)
    # user data would still claim partitions that the subscription no longer claims
    follow_up = GroupSubscription(
        group.topics,
        tuple(
            replace(
                each,
                owned=first.members[each.member_id],
                generation=9,
                user_data=None,
                config=_reported(each, strategy),
            )
            for each in group.members
        ),
    )
    second = strategy.assign(follow_up)
    assert not second.revoking
    assert second.members == second.target
    quality = judge(follow_up, second, strategy)
    assert quality.moved == 0
    assert quality.imbalance == 0


def _reported(member, strategy):
    """A member's settings as config instead of user data."""
    roster = strategy.roster(GroupSubscription({}, (member,)))
    return {name: str(value) for name, (value,) in roster.settings.items()}


@given(group=groups())
@settings(max_examples=examples(50))
def test_range_and_roundrobin_divide_a_topic_evenly_among_equal_subscribers(group):
    equal = GroupSubscription(
        group.topics, tuple(replace(each, topics=tuple(group.topics), rack=None) for each in group.members)
    )
    for name in ("range", "roundrobin"):
        target = STRATEGIES[name].assign(equal).target
        for topic in equal.topics:
            counts = [len(topics.get(topic, ())) for topics in target.values()]
            assert max(counts, default=0) - min(counts, default=0) <= 1
        if name != "range":
            assert judge(equal, STRATEGIES[name].assign(equal)).spread <= 1


@given(group=groups())
@settings(max_examples=examples(50))
def test_only_claims_of_the_newest_generation_count(group):
    roster = STRATEGIES["range"].roster(group)
    owners = {
        (topic, number): roster.members[member].member_id
        for topic, ownership in zip(roster.topics, roster.ownership, strict=True)
        for member, numbers in ownership.owned.items()
        for number in numbers
    }
    assert owners == valid_owners(group)


@given(group=groups())
@settings(max_examples=examples(50))
def test_failover_assigns_every_topic_to_one_member_of_highest_priority(group):
    strategy = STRATEGIES["failover"]
    roster = strategy.roster(group)
    priorities = dict(
        zip((each.member_id for each in roster.members), roster.settings["assignment.consumer.priority"], strict=True)
    )
    target = strategy.assign(group).target
    owners = valid_owners(group)
    for topic in roster.topics:
        subscribers = [each.member_id for each in group.members if topic in each.topics]
        (active,) = [member_id for member_id, topics in target.items() if topic in topics]
        highest = max(priorities[member_id] for member_id in subscribers)
        assert priorities[active] == highest
        equals = [member_id for member_id in subscribers if priorities[member_id] == highest]
        had = {each: sum(owner == each for (name, _), owner in owners.items() if name == topic) for each in equals}
        assert had[active] == max(had.values())


@given(group=groups())
@settings(max_examples=examples(60))
def test_loads_never_exceed_the_targets_of_a_kept_promise(group):
    for name, strategy in noted(NAMES):
        targets = strategy.targets(group)
        assert targets.keys() == {each.member_id for each in group.members}
        if name in PROMISING:
            target = strategy.assign(group).target
            assert all(count_partitions(target[member_id]) <= most for member_id, most in targets.items())


@given(group=groups())
@settings(max_examples=examples(50))
def test_target_of_a_cooperative_form_is_its_eager_forms_assignment(group):
    # The same user data may have different meanings in both forms.
    group = replace(group, members=tuple(replace(each, user_data=None) for each in group.members))
    for name in COOPERATIVE:
        eager = STRATEGIES[name.removeprefix("cooperative-")].assign(group)
        cooperative = STRATEGIES[name].assign(group)
        assert cooperative.target == eager.members
        given = {pair for topics in cooperative.members.values() for pair in pairs(topics)}
        assert given <= {pair for topics in eager.members.values() for pair in pairs(topics)}
