"""Groups to assign, sequences of changes, and the rules for every strategy's result."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from rebalance_agent.assignors import Strategy
from rebalance_agent.errors import DecodeError
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions, pairs
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)

WEIGHT = "assignment.consumer.weight"
PRIORITY = "assignment.consumer.priority"


def member(member_id, topics, **fields):
    """A member; ``topics`` separated by spaces."""
    return MemberSubscription(member_id, tuple(topics.split()), **fields)


def group(topics: Mapping[str, int | TopicMetadata], *members: MemberSubscription) -> GroupSubscription:
    return GroupSubscription(
        {name: TopicMetadata(known) if isinstance(known, int) else known for name, known in topics.items()}, members
    )


_NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
_RACKS = st.sampled_from(["r1", "r2", "r3"])


@st.composite
def topics_metadata(draw, partitions_max=9):
    known = {}
    for name in draw(st.lists(_NAMES, unique=True, min_size=1, max_size=5)):
        count = draw(st.integers(0, partitions_max))
        rows = st.lists(_RACKS, unique=True, max_size=3).map(tuple)
        racks = draw(st.none() | st.lists(rows, min_size=count, max_size=count).map(tuple))
        known[name] = TopicMetadata(count, racks)
    return known


@st.composite
def ownership(draw, topics):
    """A claim that can be correct, stale, duplicated, or for something that does not exist."""
    owned = {}
    for topic in draw(st.lists(st.sampled_from([*topics, "gone"]), unique=True, max_size=3)):
        numbers = draw(st.sets(st.integers(0, 11), max_size=6))
        if numbers:
            owned[topic] = tuple(sorted(numbers))
    return owned


@st.composite
def member_subscriptions(draw, member_id, topics, uniform):
    static = draw(st.booleans())
    config = {}
    if draw(st.booleans()):
        config = {WEIGHT: str(draw(st.integers(1, 12))), PRIORITY: str(draw(st.integers(-2, 3)))}
    return MemberSubscription(
        member_id,
        uniform or tuple(draw(st.lists(st.sampled_from([*topics, "unknown"]), max_size=5))),
        instance_id=f"i-{draw(st.integers(0, 99)):02}-{member_id}" if static else None,
        owned=draw(st.just({}) | ownership(topics)),
        generation=draw(st.integers(-1, 3)),
        rack=draw(st.none() | _RACKS),
        user_data=draw(st.none() | st.binary(max_size=12)),
        config=config,
    )


@st.composite
def groups(draw, partitions_max=9, members_max=6):
    topics = draw(topics_metadata(partitions_max))
    uniform = tuple(topics) if draw(st.booleans()) else ()
    names = draw(st.lists(st.integers(0, 99), unique=True, max_size=members_max))
    members = [draw(member_subscriptions(f"m{name:02}", list(topics), uniform)) for name in names]
    return GroupSubscription(topics, tuple(members))


def knotty_group(seed: int) -> GroupSubscription:
    """A small group with mixed subscriptions and weights, and most partitions owned: a difficult balance.

    Built from a seed, because such groups are rare among those that grow and shrink draw by draw.
    """
    rnd = random.Random(seed)
    topics = {name: TopicMetadata(rnd.randint(1, 3)) for name in "abcd"[: rnd.randint(2, 4)]}
    while sum(known.partitions for known in topics.values()) > 7:
        topics.popitem()
    names = [f"m{place}" for place in range(rnd.randint(2, 4))]
    subscribed = {name: rnd.sample(sorted(topics), rnd.randint(1, len(topics))) for name in names}
    owned: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in names}
    for topic, known in topics.items():
        for number in range(known.partitions):
            holder = rnd.choice([*names, None])
            if holder:
                owned[holder][topic] = (*owned[holder].get(topic, ()), number)
    weights = rnd.choice([(1,), (1, 2, 3), tuple(range(1, 10))])
    return group(
        topics,
        *(
            member(name, " ".join(subscribed[name]), owned=owned[name], config={WEIGHT: str(rnd.choice(weights))})
            for name in names
        ),
    )


def knotty_groups():
    return st.integers(0, 2**32).map(knotty_group)


@st.composite
def next_groups(draw, before: GroupSubscription, assignment: GroupAssignment, generation: int):
    """A possible next group: members keep their partitions, and one property of the group changes."""
    topics = dict(before.topics)
    members = [
        replace(each, owned=assignment.members[each.member_id], generation=generation, user_data=None)
        for each in before.members
    ]
    change = draw(st.sampled_from(["join", "leave", "restart", "grow", "shrink", "subscribe", "stale", "none"]))
    if change == "join":
        newcomer = f"n{generation}"
        members.append(draw(member_subscriptions(newcomer, list(topics), tuple(topics))))
        members[-1] = replace(members[-1], owned={})
    elif change in {"grow", "shrink"}:
        name = draw(st.sampled_from(sorted(topics)))
        count = max(0, topics[name].partitions + (draw(st.integers(1, 4)) * (1 if change == "grow" else -1)))
        topics[name] = TopicMetadata(count)
    elif members:
        index = draw(st.integers(0, len(members) - 1))
        if change == "leave":
            del members[index]
        elif change == "restart":
            members[index] = replace(members[index], member_id=f"r{generation}", owned={})
        elif change == "subscribe":
            members[index] = replace(members[index], topics=tuple(topics))
        elif change == "stale":
            members[index] = replace(
                members[index], owned=draw(ownership(list(topics))), generation=draw(st.integers(-1, generation))
            )
    return GroupSubscription(topics, tuple(members))


def all_pairs(assigned: Mapping[str, TopicPartitions]):
    """(topic, partition) of every member, duplicates kept."""
    return [pair for topics in assigned.values() for pair in pairs(topics)]


def valid_owners(subscription: GroupSubscription) -> dict[tuple[str, int], str]:
    """Partition -> its owner by the newest generation, computed in the simplest way."""
    claims: dict[tuple[str, int], dict[int, set[str]]] = {}
    for each in subscription.members:
        for pair in pairs(each.owned):
            claims.setdefault(pair, {}).setdefault(each.generation, set()).add(each.member_id)
    subscribed = {each.member_id: set(each.topics) for each in subscription.members}
    owners = {}
    for (topic, number), by_generation in claims.items():
        newest = by_generation[max(by_generation)]
        known = subscription.topics.get(topic)
        if len(newest) == 1 and known and number < known.partitions and topic in subscribed[min(newest)]:
            owners[topic, number] = min(newest)
    return owners


def dated(strategy: Strategy, subscription: GroupSubscription) -> GroupSubscription:
    """``subscription`` with the generations from the members' user data, if it has none itself."""
    members = []
    for each in subscription.members:
        generation = each.generation
        if generation == UNKNOWN_GENERATION and strategy.reader and each.user_data:
            with contextlib.suppress(DecodeError):
                generation = strategy.reader(each.user_data).generation
        members.append(replace(each, generation=generation))
    return replace(subscription, members=tuple(members))


def check(strategy: Strategy, subscription: GroupSubscription, assignment: GroupAssignment) -> None:
    """Check that an assignment is valid and complete, that its owners are subscribed, and that no member gets a
    partition that another one still owns."""
    ids = {each.member_id for each in subscription.members}
    subscribed = {each.member_id: set(each.topics) for each in subscription.members}
    wanted = {topic for topics in subscribed.values() for topic in topics}
    existing = {
        (topic, number)
        for topic in wanted & subscription.topics.keys()
        for number in range(subscription.topics[topic].partitions)
    }
    assert assignment.members.keys() == assignment.target.keys() == ids
    for assigned in (assignment.members, assignment.target):
        for member_id, topics in assigned.items():
            assert topics.keys() <= subscribed[member_id]
            assert list(topics) == sorted(topics)
            assert all(numbers and list(numbers) == sorted(set(numbers)) for numbers in topics.values())
    assert strategy.redundancy or assignment.redundancy == 1
    assert Counter(all_pairs(assignment.target)) == {
        (topic, number): min(assignment.redundancy, sum(topic in topics for topics in subscribed.values()))
        for topic, number in existing
    }
    assert set(assignment.unknown_topics) == wanted - {topic for topic, _ in existing}
    assert assignment.standbys.keys() == (ids if strategy.copies else set())
    for member_id, copies in assignment.standbys.items():
        # A member that gets a partition only in the follow-up rebalance still has it as a copy.
        assert pairs(copies).isdisjoint(pairs(assignment.members[member_id]))
        assert all(numbers and list(numbers) == sorted(set(numbers)) for numbers in copies.values())
    if strategy.protocol is RebalanceProtocol.EAGER:
        assert assignment.members == assignment.target
        assert not assignment.revoking
    else:
        check_withholding(dated(strategy, subscription), assignment)


def check_withholding(subscription: GroupSubscription, assignment: GroupAssignment) -> None:
    owners = valid_owners(subscription)
    claimants: dict[tuple[str, int], set[str]] = {}
    for each in subscription.members:
        for pair in pairs(each.owned):
            claimants.setdefault(pair, set()).add(each.member_id)
    withheld = set()
    for member_id, topics in assignment.target.items():
        now = pairs(assignment.members[member_id])
        assert now <= pairs(topics)
        withheld |= pairs(topics) - now
        for pair in now:
            assert owners.get(pair) == member_id or claimants.get(pair, set()) <= {member_id}
    assert withheld == set(all_pairs(assignment.revoking))
    for member_id, topics in assignment.revoking.items():
        assert topics
        assert all(member_id in claimants[pair] for pair in pairs(topics))
        assert pairs(topics).isdisjoint(pairs(assignment.target[member_id]))


def every_assignment(subscription: GroupSubscription):
    """All assignments of a small group: member id per partition."""
    slots = [
        ((topic, number), [each.member_id for each in subscription.members if topic in each.topics])
        for topic, known in sorted(subscription.topics.items())
        for number in range(known.partitions)
    ]
    slots = [slot for slot in slots if slot[1]]
    for choice in itertools.product(*(members for _, members in slots)):
        yield {pair: chosen for (pair, _), chosen in zip(slots, choice, strict=True)}
