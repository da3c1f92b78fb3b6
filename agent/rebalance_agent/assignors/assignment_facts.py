"""What can be counted on any assignment: who owns what, what moved, how far topics spread, which racks were missed."""

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
    """``by_topic``: member -> its existing partitions of that topic, by place in the roster; ``given``: how many.

    ``plain``: every partition has one owner at most, who subscribes to it, and nothing is given that does not exist.
    """

    by_topic: tuple[dict[int, tuple[int, ...]], ...]
    given: tuple[int, ...]
    plain: bool


def owners_of(roster: Roster, target: Mapping[str, TopicPartitions]) -> Owners:
    """Read ``target`` (by member id), which may be anybody's work."""
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
            # Whatever it is, this makes sets of existing partitions of it.
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
    """Owned partitions that do not stay with their owner."""
    moved = 0
    for ownership, given in zip(roster.ownership, owners.by_topic, strict=True):
        for member, numbers in ownership.owned.items():
            now = given.get(member)
            if now is not numbers and now != numbers:
                moved += len(set(numbers).difference(now)) if now else len(numbers)
    return moved


def count_unassigned(roster: Roster, owners: Owners) -> int:
    """Partitions of subscribed topics that nobody gets."""
    return sum(roster.partitions) - sum(owners.given)


def topic_spread(roster: Roster, owners: Owners, targets: Sequence[int]) -> dict[str, float]:
    """Topic -> distinct owners / min(partitions, subscribers), 1 at most; without who is promised nothing."""
    spread = {}
    promised: dict[int, int] = {}
    for topic, count, subscribers, given in zip(
        roster.topics, roster.partitions, roster.subscribers, owners.by_topic, strict=True
    ):
        # Topics with the same subscribers share one tuple of them, and most do: counted once.
        if id(subscribers) not in promised:
            promised[id(subscribers)] = sum(targets[member] > 0 for member in subscribers) or len(subscribers)
        spread[topic] = min(1.0, len(given) / min(count, promised[id(subscribers)]))
    return spread


def copartition_breaks(roster: Roster, owners: Owners) -> int | None:
    """Partition numbers that topics of equal count and subscribers give to different members.

    None where no two topics are alike, so that nothing could be broken.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for topic, (count, subscribers) in enumerate(zip(roster.partitions, roster.subscribers, strict=True)):
        # Topics with the same subscribers share one tuple, see Roster.
        alike.setdefault((count, id(subscribers)), []).append(topic)
    together = {kind: topics for kind, topics in alike.items() if len(topics) > 1}
    if not together:
        return None
    return sum(
        len(_broken([owners.by_topic[topic] for topic in topics], count)) for (count, _), topics in together.items()
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
    """Partitions whose owner's rack holds no replica although some subscriber's rack does.

    None where no member, or no partition, says its rack.
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
