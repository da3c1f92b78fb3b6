"""Reduces the members' claims to one topic to the valid ones.

A partition belongs to the member that claims it with the newest generation (KAFKA-12984, KIP-792). The partition is
disputed, and belongs to no member, if two members claim it with that generation, or if the member no longer subscribes
to the topic. Claims to partitions that do not exist are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Claim", "TopicOwnership", "settle"]

Claim = tuple[int, int, tuple[int, ...]]
"""Generation, member (index in the roster), partition numbers."""


@dataclass(frozen=True, slots=True)
class TopicOwnership:
    """Ownership of one topic: ``owned`` by member, ascending; ``disputed`` partition -> members that still hold it.

    Disputed partitions belong to no member, but a cooperative rebalance must not assign them while they are held.
    """

    owned: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    disputed: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def holders(self) -> dict[int, tuple[int, ...]]:
        """Return partition -> the members whose claim to it is the newest."""
        held: dict[int, tuple[int, ...]] = dict(self.disputed)
        for member, numbers in self.owned.items():
            held.update(dict.fromkeys(numbers, (member,)))
        return held


def settle(claims: Sequence[Claim], partitions: int, subscribers: Collection[int]) -> TopicOwnership:
    """Return the valid ownership of a topic of ``partitions`` partitions. Linear in the claimed partitions."""
    newest: dict[int, int] = {}
    holders: dict[int, list[int]] = {}
    for generation, member, numbers in claims:
        for number in set(numbers):
            if not 0 <= number < partitions:
                continue
            newest_generation = newest.get(number)
            if newest_generation is None or generation > newest_generation:
                newest[number] = generation
                holders[number] = [member]
            elif generation == newest_generation:
                holders[number].append(member)
    owned: dict[int, list[int]] = {}
    disputed: dict[int, tuple[int, ...]] = {}
    entitled = frozenset(subscribers)
    for number in sorted(holders):
        first, *others = holders[number]
        if others or first not in entitled:
            disputed[number] = tuple(holders[number])
        else:
            owned.setdefault(first, []).append(number)
    return TopicOwnership({member: tuple(owned[member]) for member in sorted(owned)}, disputed)
