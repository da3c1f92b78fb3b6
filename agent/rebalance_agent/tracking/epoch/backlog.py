"""How many partitions are meant for somebody and are with nobody, kept up record by record.

A rolling epoch of a large group is thousands of records: each may cost what is different in it, not the whole group.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from rebalance_agent.model.generation_diff import Partition

__all__ = ["Backlog"]


class Backlog:
    """Counts members per partition: those it is meant for, and those that hold it."""

    def __init__(self) -> None:
        """Nothing is meant for anybody."""
        self.waiting = 0
        self._meant: dict[Partition, int] = {}
        self._held: dict[Partition, int] = {}

    @property
    def held(self) -> Collection[Partition]:
        """What some member holds."""
        return self._held.keys()

    def mean(self, old: AbstractSet[Partition], new: AbstractSet[Partition]) -> None:
        """A member's target became ``new``."""
        self.waiting += sum(partition not in self._held for partition in _raise(self._meant, new - old))
        self.waiting -= sum(partition not in self._held for partition in _lower(self._meant, old - new))

    def hold(self, old: AbstractSet[Partition], new: AbstractSet[Partition]) -> None:
        """What a member works on became ``new``."""
        self.waiting -= sum(partition in self._meant for partition in _raise(self._held, new - old))
        self.waiting += sum(partition in self._meant for partition in _lower(self._held, old - new))


def _raise(counts: dict[Partition, int], partitions: AbstractSet[Partition]) -> list[Partition]:
    """Count one member more; returns those that had none."""
    first = [partition for partition in partitions if partition not in counts]
    for partition in partitions:
        counts[partition] = counts.get(partition, 0) + 1
    return first


def _lower(counts: dict[Partition, int], partitions: AbstractSet[Partition]) -> list[Partition]:
    """Count one member less; returns those that have none left."""
    for partition in partitions:
        counts[partition] -= 1
    last = [partition for partition in partitions if not counts[partition]]
    for partition in last:
        del counts[partition]
    return last
