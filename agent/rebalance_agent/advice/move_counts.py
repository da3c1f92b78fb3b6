"""What one rebalance did to partitions, counted by the member that had them. Identities as in `history`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_agent.model.partitions import TopicPartitions, count_partitions

__all__ = ["Assignment", "MoveCounts", "count_moves"]

Assignment = Mapping[str, TopicPartitions]
"""Identity of a member -> what it has."""


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """``owned``: what members that stayed had before; ``moved``: how much of it others have now, where that is any.

    ``gone``: what members that went had, and somebody has now. ``assigned``: partitions with an owner now.
    """

    owned: Mapping[str, int]
    moved: Mapping[str, int]
    gone: Mapping[str, int]
    assigned: int

    @property
    def changed(self) -> int:
        """Partitions that changed hands, as events count ``moved``."""
        return sum(self.moved.values()) + sum(self.gone.values())


def count_moves(before: Assignment, after: Assignment) -> MoveCounts:
    """Compare two assignments. What nobody has any more is in neither ``moved`` nor ``gone``."""
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
