"""Random groups of KIP-848, by seed: members in any order, with the partitions that they owned before."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from rebalance_agent.assignors.reordered_roster import reordered
from rebalance_agent.assignors.roster import Roster, prepare_roster
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata


def broker_group(seed: int) -> GroupSubscription:
    """A group of up to 12 members and 6 topics; the topics' names are in the order of their ids."""
    rnd = random.Random(seed)
    topics = {f"t{at}": TopicMetadata(rnd.choice([1, 2, 3, 5, 8, 12, 30])) for at in range(rnd.randint(1, 6))}
    equal = rnd.random() < 0.5
    names = [f"m{rnd.randrange(10**6)}" for _ in range(rnd.randint(1, 12))]
    members = []
    for name in dict.fromkeys(names):
        some = list(topics) if equal else _some(rnd, list(topics))
        instance = f"i{rnd.randrange(10**6)}" if rnd.random() < 0.3 else None
        members.append(MemberSubscription(name, tuple(some), instance))
    owned = _owned(rnd, topics, members, rnd.choice(["nothing", "anything", "balanced", "one joined"]))
    return GroupSubscription(topics, tuple(replace(each, owned=owned.get(each.member_id, {})) for each in members))


def _some(rnd, topics):
    """Some topics in order, rarely none."""
    return sorted(rnd.sample(topics, rnd.randint(0 if rnd.random() < 0.1 else 1, len(topics))))


def _owned(rnd, topics, members, kind):
    """Member id -> its partitions. No partition has two owners, some have none; a few owners are not subscribed."""
    if kind == "nothing":
        return {}
    former = members[:-1] if kind == "one joined" else members
    owned = {each.member_id: {} for each in former}
    for topic in rnd.sample(list(topics), len(topics)):
        subscribed = [each.member_id for each in former if topic in each.topics or rnd.random() < 0.05]
        for turn, number in enumerate(rnd.sample(range(topics[topic].partitions), topics[topic].partitions)):
            if subscribed and rnd.random() < 0.9:
                owner = subscribed[turn % len(subscribed)] if kind == "balanced" else rnd.choice(subscribed)
                owned[owner].setdefault(topic, []).append(number)
    return {name: {topic: tuple(sorted(numbers)) for topic, numbers in held.items()} for name, held in owned.items()}


def broker_roster(group: GroupSubscription, member_ids: Sequence[str]) -> Roster:
    """The roster of ``group`` with its members in the order of ``member_ids``."""
    roster = prepare_roster(group)
    at = {each.member_id: index for index, each in enumerate(roster.members)}
    return reordered(roster, [at[name] for name in member_ids])
