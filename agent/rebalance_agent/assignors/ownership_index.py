"""Checks the claims of a whole group: what each member owns, by member and by topic, and what has no owner.

Claims are nearly always valid, so the first check is for a whole topic at once: the partition numbers that members
claim must, when sorted, be distinct and exist. If so, a member owns what it claims, and ownership by topic is built
only on demand. Otherwise topics are checked one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from rebalance_agent.assignors.claims import TopicOwnership, settle
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["OwnershipIndex", "build_index", "distinct", "in_order", "settle_all"]

_ALIKE_MIN = 4
"""Minimum number of members with equal topics that are read column by column; fewer are read faster one by one."""


@dataclass(frozen=True)
class OwnershipIndex:
    """Ownership: ``ownership`` and ``gaps`` (partitions without an owner) by topic, and ``holdings`` by member.

    If all claims of a member are valid, its holdings are the same mapping object that the member sent, not a copy.
    ``disputed``: topics with partitions that have no owner although members hold them. Their ownership does not follow
    from the holdings, so in this case ``settled`` is the ownership of all ``topics``.
    """

    topics: Collection[str]
    gaps: Sequence[Sequence[int]]
    holdings: Sequence[TopicPartitions]
    settled: tuple[TopicOwnership, ...] | None = None
    disputed: frozenset[str] = frozenset()

    @cached_property
    def ownership(self) -> tuple[TopicOwnership, ...]:
        """Ownership by topic, built at first use: up to a million entries, which sticky plans do not need."""
        if self.settled is not None:
            return self.settled
        owned: dict[str, dict[int, tuple[int, ...]]] = {topic: {} for topic in self.topics}
        for member, held in enumerate(self.holdings):
            for topic, numbers in held.items():
                owned[topic][member] = numbers
        return tuple(map(TopicOwnership, owned.values()))


def settle_all(
    claims: Sequence[tuple[int, TopicPartitions]],
    topics: Mapping[str, int],
    subscribers: Sequence[tuple[int, ...]],
    subscriptions: Sequence[Sequence[str]],
) -> OwnershipIndex:
    """Return the valid ownership from each member's claim: its generation, and topic -> numbers.

    ``topics`` maps each topic to its partition count. ``subscribers`` (by topic) and ``subscriptions`` (by member)
    contain the same facts.
    """
    holdings = [owned for _, owned in claims]
    gaps = None
    if all(len(members) == len(claims) for members in subscribers) or _entitled(holdings, subscriptions):
        gaps = _gaps_of_plain(holdings, topics)
    if gaps is not None:
        return OwnershipIndex(topics, gaps, holdings)
    return _settle_each(claims, topics, subscribers)


def _entitled(holdings: Sequence[TopicPartitions], subscriptions: Sequence[Sequence[str]]) -> bool:
    return all(
        owned.keys() <= frozenset(topics) for owned, topics in zip(holdings, subscriptions, strict=True) if owned
    )


def _gaps_of_plain(holdings: Sequence[TopicPartitions], topics: Mapping[str, int]) -> list[Sequence[int]] | None:
    """Return the partitions without an owner by topic; None if two claims overlap or a claim is not valid."""
    claimed = _claimed_numbers(holdings, topics)
    if claimed is None:
        return None
    gaps: list[Sequence[int]] = []
    for numbers, count in zip(claimed.values(), topics.values(), strict=True):
        numbers.sort()
        if not distinct(numbers, count):
            return None
        if len(numbers) == count:
            gaps.append(())
        else:
            gaps.append(sorted(set(range(count)).difference(numbers)) if numbers else range(count))
    return gaps


def _claimed_numbers(holdings: Sequence[TopicPartitions], topics: Mapping[str, int]) -> dict[str, list[int]] | None:
    """Return topic -> the numbers claimed; None if a claim has an unknown topic, or numbers out of order."""
    alike: dict[tuple[str, ...], list[TopicPartitions]] = {}
    for owned in holdings:
        alike.setdefault(tuple(owned), []).append(owned)
    claimed: dict[str, list[int]] = {topic: [] for topic in topics}
    for names, group in alike.items():
        if not claimed.keys() >= set(names) or not all(in_order(owned.values()) for owned in group):
            return None
        if len(group) >= _ALIKE_MIN:
            # Member by member first, since the numbers of one member are close together in memory.
            flat = [list(chain.from_iterable(owned.values())) for owned in group]
            if all(map(len(names).__eq__, map(len, flat))):
                for topic, column in zip(names, zip(*flat, strict=True), strict=True):
                    claimed[topic] += column
                continue
            for topic, column in zip(names, zip(*(owned.values() for owned in group), strict=True), strict=True):
                claimed[topic] += chain.from_iterable(column)
        else:
            for owned in group:
                for topic, numbers in owned.items():
                    claimed[topic] += numbers
    return claimed


def distinct(numbers: Sequence[int], count: int) -> bool:
    """Return whether the sorted ``numbers`` are distinct partitions of a topic of ``count``."""
    if numbers and (numbers[0] < 0 or numbers[-1] >= count):
        return False
    if len(numbers) == count:
        # As many as the topic has, all in bounds: distinct if and only if they are 0, 1, 2 ...
        return numbers == list(range(count))
    return len(set(numbers)) == len(numbers)


def in_order(parts: Collection[Sequence[int]]) -> bool:
    """Return whether each of ``parts`` has numbers, in ascending order."""
    lengths = set(map(len, parts))
    return 0 not in lengths and (
        lengths <= {1} or all(len(numbers) == 1 or list(numbers) == sorted(numbers) for numbers in parts)
    )


def _settle_each(
    claims: Sequence[tuple[int, TopicPartitions]], topics: Mapping[str, int], subscribers: Sequence[tuple[int, ...]]
) -> OwnershipIndex:
    claimed: dict[str, dict[int, tuple[int, ...]]] = {topic: {} for topic in topics}
    for member, (_, owned) in enumerate(claims):
        for topic in owned.keys() & claimed.keys():
            claimed[topic][member] = owned[topic]
    ownership = []
    for parts, count, members in zip(claimed.values(), topics.values(), subscribers, strict=True):
        plain = distinct(sorted(chain.from_iterable(parts.values())), count) and in_order(parts.values())
        if plain and parts.keys() <= frozenset(members):
            ownership.append(TopicOwnership(parts))
        else:
            dated = [(claims[member][0], member, numbers) for member, numbers in parts.items()]
            ownership.append(settle(dated, count, members))
    return build_index(ownership, topics, len(claims))


def build_index(ownership: Sequence[TopicOwnership], topics: Mapping[str, int], members: int) -> OwnershipIndex:
    """Return the index of any ``ownership`` of ``topics`` (with their partition counts)."""
    holdings: list[dict[str, tuple[int, ...]]] = [{} for _ in range(members)]
    gaps: list[Sequence[int]] = []
    for (topic, count), topic_ownership in zip(topics.items(), ownership, strict=True):
        owned = topic_ownership.owned
        for member, numbers in owned.items():
            holdings[member][topic] = numbers
        everything = range(count)
        gaps.append(sorted(set(everything).difference(*owned.values())) if owned else everything)
    disputed = frozenset(
        topic for topic, topic_ownership in zip(topics, ownership, strict=True) if topic_ownership.disputed
    )
    return OwnershipIndex(topics, gaps, holdings, tuple(ownership), disputed)
