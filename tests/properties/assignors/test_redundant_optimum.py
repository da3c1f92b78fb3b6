"""``redundant`` compared with a brute-force search of all assignments of small groups to several members."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.model.partitions import pairs, topic_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata
from support.examples import examples

REDUNDANCY = "assignment.redundancy"
STRATEGY = STRATEGIES["redundant"]
SEEDS = st.integers(0, 2**32)
CHOICES_MAX = 30_000


def doubled_group(seed):
    """A small group whose members own some copies: as many as configured, more or fewer."""
    rnd = random.Random(seed)
    topics = {name: TopicMetadata(rnd.randint(1, 3)) for name in "abc"[: rnd.randint(1, 3)]}
    copies = rnd.choice([1, 2, 2, 2, 3])
    uniform = rnd.random() < 0.4
    members = []
    for place in range(rnd.randint(1, 5)):
        subscribed = tuple(topics) if uniform else tuple(rnd.sample(sorted(topics), rnd.randint(1, len(topics))))
        held = [
            (topic, number) for topic in subscribed for number in range(topics[topic].partitions) if rnd.random() < 0.5
        ]
        members.append(
            MemberSubscription(
                f"m{place}",
                subscribed,
                owned=topic_partitions(held),
                generation=4,
                rack=rnd.choice(["r1", "r2", "r2", None]),
            )
        )
    group = GroupSubscription(topics, tuple(members), config={REDUNDANCY: str(copies)})
    while number_of_choices(group) > CHOICES_MAX:
        group = replace(group, topics=dict(list(group.topics.items())[:-1]) or {"a": TopicMetadata(1)})
    return group


def ways(group):
    copies = int(group.config[REDUNDANCY])
    for topic, known in sorted(group.topics.items()):
        subscribers = [each.member_id for each in group.members if topic in each.topics]
        if subscribers:
            some = list(itertools.combinations(subscribers, min(copies, len(subscribers))))
            for number in range(known.partitions):
                yield (topic, number), some


def number_of_choices(group):
    number = 1
    for _, some in ways(group):
        number *= len(some)
    return number


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_redundant_has_the_best_balance_then_the_fewest_shared_racks_then_the_fewest_new_copies(seed):
    group = doubled_group(seed)
    racks = {each.member_id: each.rack for each in group.members}
    held = {(pair, each.member_id) for each in group.members for pair in pairs(each.owned) if pair[0] in group.topics}
    slots = list(ways(group))
    clash = {
        some: sum(count - 1 for count in Counter(racks[each] for each in some if racks[each]).values())
        for _, choices in slots
        for some in choices
    }

    def rate(choice):
        loads = Counter(itertools.chain.from_iterable(choice))
        return (
            sorted((loads[each.member_id] for each in group.members), reverse=True),
            sum(clash[some] for some in choice),
            sum((pair, each) not in held for (pair, _), some in zip(slots, choice, strict=True) for each in some),
        )

    best = min(map(rate, itertools.product(*(some for _, some in slots))))
    assignment = STRATEGY.assign(group)
    owners = {pair: [] for pair, _ in slots}
    for each in sorted(assignment.target):
        for pair in pairs(assignment.target[each]):
            owners[pair].append(each)
    assert rate([tuple(owners[pair]) for pair, _ in slots]) == best
    quality = judge(group, assignment, STRATEGY)
    assert (quality.imbalance, quality.skew_ratio, quality.unassigned) == (0, 1.0, 0)


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_a_settled_group_is_unchanged(seed):
    group = doubled_group(seed)
    target = STRATEGY.assign(group).target
    members = tuple(replace(each, owned=target[each.member_id], generation=5) for each in group.members)
    assert STRATEGY.assign(replace(group, members=members)).target == target


@given(seed=SEEDS)
@settings(max_examples=examples())
def test_targets_are_the_maximum_over_all_best_balances(seed):
    group = doubled_group(seed)
    slots = list(ways(group))
    best, most = None, {}
    for choice in itertools.product(*(some for _, some in slots)):
        loads = Counter(itertools.chain.from_iterable(choice))
        rated = sorted((loads[each.member_id] for each in group.members), reverse=True)
        if best is None or rated < best:
            best, most = rated, dict(loads)
        elif rated == best:
            most = {each: max(most.get(each, 0), loads[each]) for each in most.keys() | loads.keys()}
    assert STRATEGY.targets(group) == {each.member_id: most.get(each.member_id, 0) for each in group.members}
