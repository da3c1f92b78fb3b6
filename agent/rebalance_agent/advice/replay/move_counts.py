"""Counts the partitions that one rebalance moved, by previous owner. `recorded_history` defines the identities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_agent.model.partitions import TopicPartitions, count_partitions

__all__ = ["Assignment", "MoveCounts", "count_moves"]

Assignment = Mapping[str, TopicPartitions]
"""Identity of a member -> its partitions."""


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """Numbers of partitions by previous owner: ``owned`` by members that stayed; ``moved`` from these to other members.

    ``gone``: partitions of departed members that other members have now. ``assigned``: partitions that now have an
    owner.
    """

    owned: Mapping[str, int]
    moved: Mapping[str, int]
    gone: Mapping[str, int]
    assigned: int

    @property
    def changed(self) -> int:
        """The number of partitions that changed owner, like ``moved`` in events."""
        return sum(self.moved.values()) + sum(self.gone.values())


def count_moves(before: Assignment, after: Assignment) -> MoveCounts:
    """Compare two assignments. Partitions that no longer have an owner are in neither ``moved`` nor ``gone``."""
    owned: dict[str, int] = {}
    moved: dict[str, int] = {}
    gone: dict[str, int] = {}
    owned_now: dict[str, frozenset[int]] = {}
    for name, had in before.items():
        now = after.get(name)
        count = changed = 0
        for topic, numbers in had.items():
            count += len(numbers)
            has = now.get(topic, ()) if now is not None else ()
            if has is numbers or has == numbers:
                continue
            if topic not in owned_now:
                owned_now[topic] = frozenset().union(*(given.get(topic, ()) for given in after.values()))
            taken = set(numbers).difference(has) if has else numbers
            changed += len(owned_now[topic].intersection(taken))
        if now is not None:
            owned[name] = count
        if changed:
            (gone if now is None else moved)[name] = changed
    return MoveCounts(owned, moved, gone, sum(map(count_partitions, after.values())))
