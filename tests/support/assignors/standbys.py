"""Groups whose members have standby copies, and checks of their assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rebalance_agent.assignors import Strategy
from rebalance_agent.groupprotocol.standby_user_data import decode_standby_assignment
from rebalance_agent.model.partitions import TopicPartitions, pairs
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, TopicMetadata
from support.assignors.rules import member

STANDBYS = "assignment.num.standbys"
CHANGELOGS = "assignment.changelog.topics"
SUBTOPOLOGIES = "assignment.task.subtopologies"
PROCESS = "assignment.process.id"
STATE_FACTOR = "assignment.max.state.factor"


def stateful(topics, *members, **config):
    """A group; ``config`` contains the shared settings, by the last words of their names."""
    names = {
        "standbys": STANDBYS,
        "changelogs": CHANGELOGS,
        "subtopologies": SUBTOPOLOGIES,
        "state_factor": STATE_FACTOR,
    }
    return GroupSubscription(
        {name: TopicMetadata(count) for name, count in topics.items()},
        members,
        config={names[name]: str(value) for name, value in config.items()},
    )


def equals(topics, count, **config):
    """``count`` members m0, m1, ... that subscribe to all ``topics``."""
    return stateful(topics, *(member(f"m{n}", " ".join(topics)) for n in range(count)), **config)


def settled(subject: GroupSubscription, assignment: GroupAssignment, generation=7) -> GroupSubscription:
    """The group after all members have, and report, their assigned partitions and copies."""
    return replace(
        subject,
        members=tuple(
            replace(
                each,
                owned=assignment.target[each.member_id],
                standbys=assignment.standbys[each.member_id],
                generation=generation,
                user_data=None,
            )
            for each in subject.members
        ),
    )


def without(subject: GroupSubscription, *member_ids: str) -> GroupSubscription:
    return replace(subject, members=tuple(each for each in subject.members if each.member_id not in member_ids))


def owners(assigned) -> dict[tuple[str, int], str]:
    return {pair: member_id for member_id, topics in assigned.items() for pair in pairs(topics)}


def holders(assignment: GroupAssignment) -> dict[tuple[str, int], set[str]]:
    found: dict[tuple[str, int], set[str]] = {}
    for member_id, topics in assignment.standbys.items():
        for pair in pairs(topics):
            found.setdefault(pair, set()).add(member_id)
    return found


def kind_of(subject: GroupSubscription, topic: str) -> tuple[int, frozenset[str]]:
    """The partition count and the subscribers of a topic: topics with equal ones share their units."""
    return subject.topics[topic].partitions, frozenset(
        each.member_id for each in subject.members if topic in each.topics
    )


def rebalances(
    strategy: Strategy, subject: GroupSubscription, most: int
) -> Iterator[tuple[GroupSubscription, GroupAssignment]]:
    """Up to ``most`` rebalances of a group: they end when no partition waits for a copy."""
    for generation in range(10, 10 + most):
        assignment = strategy.assign(subject)
        yield subject, assignment
        if not any(awaited(assignment, member_id) for member_id in assignment.members):
            return
        subject = settled(subject, assignment, generation)


def awaited(assignment: GroupAssignment, member_id: str) -> TopicPartitions:
    """The warm-up copies of a member: partitions move to it when these are complete."""
    _, copies = decode_standby_assignment(assignment.user_data[member_id])
    return copies.warmups


def loads(assigned, topic) -> Counter:
    return Counter({member_id: len(topics.get(topic, ())) for member_id, topics in assigned.items()})
