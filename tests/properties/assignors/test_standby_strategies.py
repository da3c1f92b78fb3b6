"""The promises of strategies with standbys, for any group and any history."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from math import ceil, floor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.model.partitions import count_partitions, pairs
from support.assignors.fleets import changed, random_fleet
from support.assignors.rules import check, groups, member, next_groups, ownership, valid_owners
from support.assignors.standbys import (
    CHANGELOGS,
    PROCESS,
    STANDBYS,
    STATE_FACTOR,
    SUBTOPOLOGIES,
    awaited,
    equals,
    holders,
    kind_of,
    owners,
    rebalances,
    settled,
    stateful,
    without,
)
from support.examples import examples

NAMES = [name for name, each in STRATEGIES.items() if each.copies and each.internal_topics]
EAGER = [name for name in NAMES if not name.startswith("cooperative-")]

ROUNDS_MAX = 4
"""Rebalances after which a group that waited for copies is balanced."""

CONFIGS = st.fixed_dictionaries(
    {STANDBYS: st.integers(0, 3).map(str)},
    optional={
        STATE_FACTOR: st.sampled_from(["1", "1.5", "1000000"]),
        CHANGELOGS: st.sampled_from(["", "a", "a,c=store", "a=b,d"]),
        SUBTOPOLOGIES: st.sampled_from(["", "0:a,b;1:c|changelog=store", "0:e,d|repartition=a|changelog=b;1:a"]),
    },
)


def with_changelog(partitions):
    """Tasks of one topic, whose changelog has no subscriber and this number of partitions in the metadata."""
    members = member("m1", "e"), member("m2", "c e"), member("m3", "c e")
    topics = {"b": partitions, "c": 2, "e": 7}
    return stateful(topics, *members, standbys=1, subtopologies="0:e|changelog=b", changelogs="c,e=b")


@st.composite
def groups_with_copies(draw):
    subject = draw(groups())
    members = tuple(
        replace(
            each,
            standbys=draw(st.just({}) | ownership([*subject.topics])),
            config={PROCESS: draw(st.sampled_from(["", "p", "q"]))},
        )
        for each in subject.members
    )
    return replace(subject, members=members, config=draw(CONFIGS))


def place(each):
    return each.config.get(PROCESS) or f"member {each.member_id}"


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=examples(25))
def test_rules_hold_for_any_sequence_of_changes(name, data):
    strategy = STRATEGIES[name]
    subject = data.draw(groups_with_copies())
    for generation in range(4, 8):
        assignment = strategy.assign(subject)
        check(strategy, subject, assignment)
        check_copies(name, subject, assignment)
        quality = judge(subject, assignment, strategy)
        if "copartitioned" in name:
            assert not quality.copartition_breaks
        if may_wait(subject):
            assert_none_goes_where_its_state_is_not(name, subject, assignment)
            subject = next_step(data, subject, assignment, generation)
            continue
        assert (quality.imbalance, quality.skew_ratio) == (0, 1.0)
        for topic, known in subject.topics.items():
            counts = [
                len(assignment.target[each.member_id].get(topic, ()))
                for each in subject.members
                if topic in each.topics
            ]
            if "copartitioned" in name:
                assert max(counts, default=0) - min(counts, default=0) <= 1, (topic, known)
        subject = next_step(data, subject, assignment, generation)


def next_step(data, subject, assignment, generation):
    after = data.draw(next_groups(subject, assignment, generation))
    members = tuple(replace(each, standbys=assignment.standbys.get(each.member_id, {})) for each in after.members)
    return replace(after, members=members, config=subject.config)


def may_wait(subject):
    """Whether units wait for copies."""
    return subject.config.get(STATE_FACTOR) != "1" and subject.config[STANDBYS] != "0"


def assert_none_goes_where_its_state_is_not(name, subject, assignment):
    """Without a limit, no copied topic of its own unit goes to a member without its copy while another has one."""
    if "task" in name or subject.config.get(STATE_FACTOR) == "1.5" or subject.config.get(CHANGELOGS):
        return
    where = {each.member_id: set(pairs(each.standbys)) for each in subject.members}
    had = valid_owners(subject)
    subscribed = {each.member_id: each.topics for each in subject.members}
    unit = {topic: units_of(subject, topic) for topic in subject.topics}
    for (topic, number), member_id in owners(assignment.target).items():
        alike = [(other, number) for other in unit[topic]]
        near = {had[pair] for pair in alike if pair in had and topic in subscribed[had[pair]]}
        near |= {other for other, copies in where.items() if topic in subscribed[other] and copies & set(alike)}
        assert not near or member_id in near


def units_of(subject, topic):
    """The topics of equal count and subscribers."""
    return [other for other in subject.topics if kind_of(subject, other) == kind_of(subject, topic)]


def check_copies(name, subject, assignment):
    count = int(subject.config[STANDBYS])
    where = {each.member_id: place(each) if "task" in name else each.member_id for each in subject.members}
    active = owners(assignment.target)
    # A moving unit has an additional copy at its next owner: it waits for that copy, or for the follow-up rebalance.
    extra = may_wait(subject) or name.startswith("cooperative-")
    for pair, members in holders(assignment).items():
        places = [where[member_id] for member_id in members]
        assert len(set(places)) == len(places) <= count + extra
        assert owners(assignment.members).get(pair) not in members
    if subject.config.keys() <= {STANDBYS, STATE_FACTOR}:
        assert holders(assignment).keys() <= active.keys()
        for topic in {topic for topic, _ in active}:
            places = len({where[each.member_id] for each in subject.members if topic in each.topics})
            expected = min(count, places - 1)
            more = expected + extra
            found = {len(holders(assignment).get(pair, ())) for pair in active if pair[0] == topic}
            assert all(expected <= copies <= more for copies in found)
    if not extra:
        assert all(
            where[active[pair]] not in {where[each] for each in members}
            for pair, members in holders(assignment).items()
            if pair in active
        )


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("cooperative-")])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(40))
def test_revoked_units_move_in_the_follow_up_to_a_member_with_their_state_and_not_back(name, seed):
    rnd = random.Random(seed)

    def with_standbys(subject):
        return replace(
            subject,
            members=tuple(replace(each, config={}) for each in subject.members),
            config={STANDBYS: "1"},
        )

    def after(subject, assignment):
        return settled(subject, replace(assignment, target=assignment.members))

    subject = with_standbys(random_fleet(rnd))
    for _ in range(3):
        subject = after(subject, STRATEGIES[name].assign(subject))
    subject = with_standbys(changed(rnd, subject, rnd.choice(["member added", "member removed"])))
    for _ in range(ROUNDS_MAX):
        first = STRATEGIES[name].assign(subject)
        subject = after(subject, first)
        promised, copied = owners(first.target), holders(first)
        given = owners(STRATEGIES[name].assign(subject).target)
        for former, topics in first.revoking.items():
            for pair in pairs(topics):
                # Another member may have completed a copy in between; the former owner does not get the unit back.
                assert given[pair] in {promised[pair], *copied[pair]} - {former}


@pytest.mark.parametrize("name", NAMES)
@given(subject=groups_with_copies())
@example(subject=with_changelog(0))
@example(subject=with_changelog(3))
@settings(max_examples=examples(40))
def test_a_settled_group_with_standbys_is_unchanged(name, subject):
    strategy = STRATEGIES[name]
    first = strategy.assign(subject)
    # Units may wait for copies, and these for revoked copies of others, so a few rounds pass until all are in place.
    for _ in range(ROUNDS_MAX if may_wait(subject) else 0):
        subject = settled(subject, first)
        first = strategy.assign(subject)
    again = strategy.assign(settled(subject, first))
    assert again.target == first.target
    assert not again.revoking
    assert again.standbys == first.standbys
    quality = judge(subject, first, strategy)
    assert (quality.imbalance, quality.skew_ratio) == (0, 1.0)


@pytest.mark.parametrize("name", EAGER)
@given(subject=groups_with_copies())
@settings(max_examples=examples(40))
def test_while_units_wait_a_member_is_informed_and_then_the_group_is_balanced(name, subject):
    strategy = STRATEGIES[name]
    *_, (subject, assignment) = rebalances(strategy, subject, ROUNDS_MAX + 1)
    for member_id in assignment.members:
        assert awaited(assignment, member_id) == {}
    # A group without copies does not wait.
    quality = judge(subject, assignment, strategy)
    assert (quality.imbalance, quality.skew_ratio) == (0, 1.0)


@pytest.mark.parametrize("name", NAMES)
@given(subject=groups_with_copies(), seed=st.integers(0, 1000))
@settings(max_examples=examples(20))
def test_order_of_members_and_claims_changes_nothing(name, subject, seed):
    shuffle = random.Random(seed).sample
    members = tuple(
        replace(each, standbys=dict(shuffle(list(each.standbys.items()), len(each.standbys))))
        for each in shuffle(subject.members, len(subject.members))
    )
    strategy = STRATEGIES[name]
    assert strategy.assign(replace(subject, members=members)) == strategy.assign(subject)


@pytest.mark.parametrize("name", EAGER)
@given(
    seed=st.integers(0, 10_000),
    members=st.integers(2, 5),
    units=st.integers(1, 6),
    copies=st.integers(1, 2),
    gone=st.integers(0, 4),
)
@settings(max_examples=examples())
def test_with_balance_first_units_of_a_killed_member_go_to_their_standbys_if_balance_allows(
    name, seed, members, units, copies, gone
):
    strategy = STRATEGIES[name]
    subject = equals({"t": units, "u": units}, members, standbys=copies, state_factor=1)
    # The initial assignment is random, so that the standbys differ.
    rnd = random.Random(seed)
    owned: dict[str, list[int]] = {each.member_id: [] for each in subject.members}
    for number in range(units):
        owned[rnd.choice(sorted(owned))].append(number)
    subject = replace(
        subject,
        members=tuple(
            replace(each, owned=dict.fromkeys("tu", tuple(owned[each.member_id])), generation=1)
            for each in subject.members
        ),
    )
    before = strategy.assign(subject)
    dead = f"m{gone % members}"
    after = strategy.assign(without(settled(subject, before), dead))
    had, held, has = owners(before.target), holders(before), owners(after.target)
    left = sorted(each.member_id for each in subject.members if each.member_id != dead)

    def price(choice):
        moved = sum(had["t", number] not in {dead, choice[number]} for number in range(units))
        cold = sum(
            choice[number] != had["t", number] and choice[number] not in held["t", number] for number in range(units)
        )
        return moved, cold

    balanced = [
        choice
        for choice in itertools.product(left, repeat=units)
        if all(floor(units / len(left)) <= choice.count(each) <= ceil(units / len(left)) for each in left)
    ]
    choice = tuple(has["t", number] for number in range(units))
    assert choice in balanced
    assert price(choice) == min(map(price, balanced))
    assert all(has["t", number] == has["u", number] for number in range(units))


@pytest.mark.parametrize("name", EAGER)
@given(members=st.integers(1, 6), counts=st.lists(st.integers(1, 9), min_size=1, max_size=4), copies=st.integers(0, 3))
@settings(max_examples=examples(50))
def test_equal_subscribers_differ_by_one_unit_and_one_copy_at_most(name, members, counts, copies):
    topics = {f"t{place}": count for place, count in enumerate(counts)}
    subject = equals(topics, members, standbys=copies)
    assignment = STRATEGIES[name].assign(subject)
    for assigned in (assignment.target, assignment.standbys):
        units = [len({(topics[topic], number) for topic, number in pairs(given)}) for given in assigned.values()]
        assert max(units) - min(units) <= 1


@given(threads=st.lists(st.integers(1, 3), min_size=1, max_size=4), count=st.integers(1, 12), copies=st.integers(0, 2))
@settings(max_examples=examples(60))
def test_processes_have_their_threads_share_of_tasks_and_copies(threads, count, copies):
    names = [f"{process}{thread}" for process, some in enumerate(threads) for thread in range(some)]
    subject = equals({"t": count}, len(names), standbys=copies)
    subject = replace(
        subject,
        members=tuple(
            replace(each, member_id=name, config={PROCESS: f"p{name[0]}"})
            for each, name in zip(subject.members, names, strict=True)
        ),
    )
    assignment = STRATEGIES["task-sticky"].assign(subject)
    loads = {name: count_partitions(topics) for name, topics in assignment.target.items()}
    assert max(loads.values()) - min(loads.values()) <= 1
    by_process = Counter()
    for name, load in loads.items():
        by_process[name[0]] += load
    for process, some in enumerate(threads):
        share = count * some / len(names)
        assert floor(share) <= by_process[str(process)] <= ceil(share)
        mine = [len(assignment.standbys[f"{process}{thread}"].get("t", ())) for thread in range(some)]
        assert max(mine) - min(mine) <= 1


@given(members=st.integers(2, 5), units=st.integers(1, 8), copies=st.integers(1, 2))
@settings(max_examples=examples(60))
def test_new_copies_of_one_members_units_are_in_as_many_processes_as_possible(members, units, copies):
    assignment = STRATEGIES["task-sticky"].assign(equals({"t": units}, members, standbys=copies))
    where = holders(assignment)
    sets = len(list(itertools.combinations(range(members - 1), min(copies, members - 1))))
    for topics in assignment.target.values():
        numbers = topics.get("t", ())
        different = {frozenset(where["t", number]) for number in numbers if ("t", number) in where}
        assert len(different) == min(len(numbers), sets)
