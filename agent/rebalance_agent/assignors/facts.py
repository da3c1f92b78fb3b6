"""What can be counted on any assignment: who owns what, what moved, how far topics spread, which racks were missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """``by_topic``: member -> its existing partitions of that topic, by place in the roster.

    ``plain``: every partition has one owner at most, who subscribes to it, and nothing is given that does not exist.
    """

    by_topic: tuple[dict[int, frozenset[int]], ...]
    plain: bool


def owners_of(roster: Roster, target: Mapping[str, TopicPartitions]) -> Owners:
    """Read ``target`` (by member id), which may be anybody's work."""
    place = {topic: index for index, topic in enumerate(roster.topics)}
    by_topic: list[dict[int, frozenset[int]]] = [{} for _ in roster.topics]
    plain = target.keys() <= {member.member_id for member in roster.members}
    for member, subscription in enumerate(roster.members):
        for topic, numbers in target.get(subscription.member_id, {}).items():
            index = place.get(topic)
            if index is None:
                plain &= not numbers
                continue
            count = roster.metadata[index].partitions
            given = frozenset(numbers)
            if given and (min(given) < 0 or max(given) >= count):
                given = frozenset(number for number in given if 0 <= number < count)
            plain &= len(given) == len(numbers)
            if given:
                by_topic[index][member] = given
    entitled = {places: frozenset(places) for places in set(roster.subscribers)}
    plain = plain and all(
        len(frozenset[int]().union(*owners.values())) == sum(map(len, owners.values()))
        and owners.keys() <= entitled[places]
        for owners, places in zip(by_topic, roster.subscribers, strict=True)
    )
    return Owners(tuple(by_topic), plain)


def count_moved(roster: Roster, owners: Owners) -> int:
    """Owned partitions that do not stay with their owner."""
    nothing = frozenset[int]()
    return sum(
        len(numbers) - len(given.get(member, nothing).intersection(numbers))
        for ownership, given in zip(roster.ownership, owners.by_topic, strict=True)
        for member, numbers in ownership.owned.items()
    )


def count_unassigned(roster: Roster, owners: Owners) -> int:
    """Partitions of subscribed topics that nobody gets."""
    return sum(
        count - len(frozenset[int]().union(*given.values()))
        for count, given in zip(roster.partitions, owners.by_topic, strict=True)
    )


def topic_spread(roster: Roster, owners: Owners) -> dict[str, float]:
    """Topic -> distinct owners / min(partitions, subscribers)."""
    return {
        topic: len(given) / min(count, len(places))
        for topic, count, places, given in zip(
            roster.topics, roster.partitions, roster.subscribers, owners.by_topic, strict=True
        )
    }


def copartition_breaks(roster: Roster, owners: Owners) -> int | None:
    """Partition numbers that topics of equal count and subscribers give to different members.

    None where no two topics are alike, so that nothing could be broken.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for topic, (count, places) in enumerate(zip(roster.partitions, roster.subscribers, strict=True)):
        # Topics with the same subscribers share one tuple, see Roster.
        alike.setdefault((count, id(places)), []).append(topic)
    together = [topics for topics in alike.values() if len(topics) > 1]
    if not together:
        return None
    return sum(len(_broken([owners.by_topic[topic] for topic in topics])) for topics in together)


def _broken(topics: Sequence[dict[int, frozenset[int]]]) -> set[int]:
    first, *others = topics
    broken: set[int] = set()
    nothing = frozenset[int]()
    for other in others:
        if other != first:
            for member in first.keys() | other.keys():
                broken |= first.get(member, nothing) ^ other.get(member, nothing)
    return broken


def rack_misses(roster: Roster, owners: Owners) -> int | None:
    """Partitions whose owner's rack holds no replica although some subscriber's rack does.

    None where no member, or no partition, says its rack.
    """
    racks = [member.rack or None for member in roster.members]
    if not any(racks) or not any(any(some) for known in roster.metadata for some in known.racks or ()):
        return None
    misses = 0
    for known, places, given in zip(roster.metadata, roster.subscribers, owners.by_topic, strict=True):
        wanted = {rack for member in places if (rack := racks[member])}
        replicas = known.racks or ()
        for member, numbers in given.items():
            rack = racks[member]
            misses += sum(
                rack not in replicas[number] and not wanted.isdisjoint(replicas[number])
                for number in numbers
                if rack is not None and number < len(replicas)
            )
    return misses
