"""Counts facts about any assignment: moves, unassigned partitions, spread of topics, co-partitioning, racks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rebalance_agent.assignors.ownership_index import distinct, in_order
from rebalance_agent.assignors.roster import Roster
from rebalance_agent.model.partitions import TopicPartitions

__all__ = [
    "Owners",
    "copartition_breaks",
    "count_moved",
    "count_unassigned",
    "owners_of",
    "rack_misses",
    "topic_spread",
]


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners in an assignment, by their index in the roster.

    ``by_topic``: for each topic, member -> its existing partitions of the topic. ``given``: the number of assigned
    partitions of each topic. ``plain``: no partition has two owners, all owners subscribe, and all partitions exist.
    """

    by_topic: tuple[dict[int, tuple[int, ...]], ...]
    given: tuple[int, ...]
    plain: bool


def owners_of(roster: Roster, target: Mapping[str, TopicPartitions]) -> Owners:
    """Return the owners in ``target`` (by member id), which may be any client's assignment."""
    by_name: dict[str, dict[int, tuple[int, ...]]] = {topic: {} for topic in roster.topics}
    plain = target.keys() <= {member.member_id for member in roster.members}
    for member, subscription in enumerate(roster.members):
        for topic, held in target.get(subscription.member_id, {}).items():
            if topic in by_name:
                by_name[topic][member] = held
            else:
                plain &= not held
    entitled = {id(subscribers): frozenset(subscribers) for subscribers in roster.subscribers}
    by_topic = []
    given = []
    for owners, count, subscribers in zip(by_name.values(), roster.partitions, roster.subscribers, strict=True):
        numbers = sorted(chain.from_iterable(owners.values()))
        covered = len(numbers)
        if not (distinct(numbers, count) and in_order(owners.values())):
            # Not valid: reduce it to sets of existing partitions.
            existing = {member: _existing(held, count) for member, held in owners.items()}
            owners = {member: held for member, held in existing.items() if held}  # noqa: PLW2901
            covered = len(set(chain.from_iterable(owners.values())))
            plain &= len(numbers) == covered
        plain = plain and owners.keys() <= entitled[id(subscribers)]
        by_topic.append(owners)
        given.append(covered)
    return Owners(tuple(by_topic), tuple(given), plain)


def _existing(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    return tuple(sorted(number for number in set(numbers) if 0 <= number < count))


def count_moved(roster: Roster, owners: Owners) -> int:
    """Return the number of owned partitions that do not stay with their owner."""
    moved = 0
    for ownership, given in zip(roster.ownership, owners.by_topic, strict=True):
        for member, numbers in ownership.owned.items():
            now = given.get(member)
            if now is not numbers and now != numbers:
                moved += len(set(numbers).difference(now)) if now else len(numbers)
    return moved


def count_unassigned(roster: Roster, owners: Owners) -> int:
    """Return the number of partitions of subscribed topics that have no owner."""
    return sum(roster.partitions) - sum(owners.given)


def topic_spread(roster: Roster, owners: Owners, targets: Sequence[int]) -> dict[str, float]:
    """Return topic -> distinct owners / min(partitions, subscribers whose target is above 0); at most 1."""
    spread = {}
    promised: dict[int, int] = {}
    for topic, count, subscribers, given in zip(
        roster.topics, roster.partitions, roster.subscribers, owners.by_topic, strict=True
    ):
        # Most topics have the same subscribers and share one tuple of them, which is counted once.
        if id(subscribers) not in promised:
            promised[id(subscribers)] = sum(targets[member] > 0 for member in subscribers) or len(subscribers)
        spread[topic] = min(1.0, len(given) / min(count, promised[id(subscribers)]))
    return spread


def copartition_breaks(roster: Roster, owners: Owners) -> int | None:
    """Return how many partition numbers of topics with equal counts and subscribers are on different members.

    Return None if no two topics have equal counts and subscribers.
    """
    together = [topics for topics in roster.copartitions() if len(topics) > 1]
    if not together:
        return None
    return sum(
        len(_broken([owners.by_topic[topic] for topic in topics], roster.metadata[topics[0]].partitions))
        for topics in together
    )


def _broken(topics: Sequence[dict[int, tuple[int, ...]]], count: int) -> set[int]:
    first, *others = topics
    broken: set[int] = set()
    for other in others:
        if other != first:
            for member in first.keys() | other.keys():
                one, two = first.get(member, ()), other.get(member, ())
                if one != two:
                    broken.update(set(one).symmetric_difference(two))
            if len(broken) == count:
                break
    return broken


def rack_misses(roster: Roster, owners: Owners) -> int | None:
    """Return how many partitions have no replica in their owner's rack although another subscriber's rack has one.

    Return None if no member, or no partition, has a known rack.
    """
    racks = [member.rack or None for member in roster.members]
    if not any(racks) or not any(any(some) for metadata in roster.metadata for some in metadata.racks or ()):
        return None
    misses = 0
    for metadata, subscribers, given in zip(roster.metadata, roster.subscribers, owners.by_topic, strict=True):
        racks_of_subscribers = {rack for member in subscribers if (rack := racks[member])}
        replicas = metadata.racks or ()
        for member, numbers in given.items():
            rack = racks[member]
            misses += sum(
                rack not in replicas[number] and not racks_of_subscribers.isdisjoint(replicas[number])
                for number in numbers
                if rack is not None and number < len(replicas)
            )
    return misses
