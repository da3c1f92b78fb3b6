"""The number of partitions that have a target member and no owner, updated record by record.

An epoch of a large group consists of thousands of records. The cost of a record must therefore depend on the member
that it changes, not on the group's size.
"""

from __future__ import annotations

from collections.abc import Collection

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import TopicPartitions, beyond, pairs

__all__ = ["Backlog"]


class Backlog:
    """Counts, for each partition, the members whose target contains it and the members that own it.

    ``waiting``: the number of partitions that are in a target but have no owner.
    """

    def __init__(self) -> None:
        """Start without targets and owners."""
        self.waiting = 0
        self._targeted: dict[Partition, int] = {}
        self._owned: dict[Partition, int] = {}

    @property
    def owned(self) -> Collection[Partition]:
        """The partitions that some member owns."""
        return self._owned.keys()

    def set_target(self, old: TopicPartitions, new: TopicPartitions) -> None:
        """Replace a member's target ``old`` by ``new``."""
        self.waiting += sum(partition not in self._owned for partition in _increment(self._targeted, beyond(new, old)))
        self.waiting -= sum(partition not in self._owned for partition in _decrement(self._targeted, beyond(old, new)))

    def set_owned(self, old: TopicPartitions, new: TopicPartitions) -> None:
        """Replace a member's owned partitions ``old`` by ``new``."""
        self.waiting -= sum(partition in self._targeted for partition in _increment(self._owned, beyond(new, old)))
        self.waiting += sum(partition in self._targeted for partition in _decrement(self._owned, beyond(old, new)))


def _increment(counts: dict[Partition, int], by_topic: TopicPartitions) -> list[Partition]:
    """Count one more member for each partition; return the partitions that had none before."""
    partitions = pairs(by_topic)
    first = [partition for partition in partitions if partition not in counts]
    for partition in partitions:
        counts[partition] = counts.get(partition, 0) + 1
    return first


def _decrement(counts: dict[Partition, int], by_topic: TopicPartitions) -> list[Partition]:
    """Count one member less for each partition; return the partitions that have none left."""
    partitions = pairs(by_topic)
    for partition in partitions:
        counts[partition] -= 1
    last = [partition for partition in partitions if not counts[partition]]
    for partition in last:
        del counts[partition]
    return last
