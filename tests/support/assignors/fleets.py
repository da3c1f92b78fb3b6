"""Groups of several members on each host, settled under a strategy, and groups with one change."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace

from rebalance_agent.assignors import Strategy
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata
from support.assignors.rules import PRIORITY, WEIGHT

CHANGES = ("topic added", "topic removed", "partition added", "partition removed", "member added", "member removed")


def fleet(rnd: random.Random, hosts: int, consumers: int, topics: dict[str, int]) -> GroupSubscription:
    """``hosts`` with ``consumers`` members each, whose ids begin with the host's name, and which subscribe to the same
    ``topics``."""
    members = [
        MemberSubscription(f"application{host + 1:02}-{_uuid(rnd)}", tuple(topics))
        for host in range(hosts)
        for _ in range(consumers)
    ]
    return GroupSubscription({name: TopicMetadata(count) for name, count in topics.items()}, tuple(members))


def random_fleet(rnd: random.Random) -> GroupSubscription:
    """A small group on up to four hosts, with equal or mixed subscriptions, weights and priorities."""
    topics = {f"t{number}": TopicMetadata(rnd.randint(1, 9)) for number in range(rnd.randint(2, 10))}
    equal = rnd.random() < 0.5
    members = tuple(
        MemberSubscription(
            f"host{rnd.randint(1, 4)}-{_uuid(rnd)}",
            tuple(topics) if equal else tuple(sorted(rnd.sample(sorted(topics), rnd.randint(1, len(topics))))),
            config={WEIGHT: str(rnd.randint(1, 5)), PRIORITY: str(rnd.randint(1, 3))},
        )
        for _ in range(rnd.randint(2, 9))
    )
    return GroupSubscription(topics, members)


def owning(group: GroupSubscription, owned: dict[str, TopicPartitions], generation: int = 9) -> GroupSubscription:
    return replace(
        group,
        members=tuple(replace(each, owned=owned[each.member_id], generation=generation) for each in group.members),
    )


def settled(strategy: Strategy, group: GroupSubscription) -> GroupSubscription:
    """The group with its assignment after two rebalances."""
    for generation in (1, 2):
        group = owning(group, dict(strategy.assign(group).target), generation)
    return group


def changed(rnd: random.Random, group: GroupSubscription, change: str) -> GroupSubscription:
    """The group after one of `CHANGES`; all members subscribe to a new topic."""
    topics, members = dict(group.topics), list(group.members)
    name = rnd.choice(sorted(topics))
    if change == "topic added":
        topics["new"] = TopicMetadata(rnd.randint(1, 9))
        members = [replace(each, topics=(*each.topics, "new")) for each in members]
    elif change == "topic removed":
        del topics[name]
        members = [replace(each, topics=tuple(topic for topic in each.topics if topic != name)) for each in members]
    elif change.startswith("partition"):
        topics[name] = TopicMetadata(max(1, topics[name].partitions + (1 if change.endswith("added") else -1)))
    elif change == "member added":
        members.append(replace(rnd.choice(members), member_id=f"host9-{_uuid(rnd)}", owned={}, generation=-1))
    else:
        members.pop(rnd.randrange(len(members)))
    return GroupSubscription(topics, tuple(members))


def host(member_id: str) -> str:
    return member_id.split("-", 1)[0]


def hosts_by_topic(assigned: dict[str, TopicPartitions]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for member_id, given in assigned.items():
        for topic in given:
            found.setdefault(topic, set()).add(host(member_id))
    return found


def _uuid(rnd: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rnd.getrandbits(128), version=4)
