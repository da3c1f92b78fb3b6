"""Recognises records that the tail reads again after a snapshot. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.cluster.topic_reader import TopicRecord

__all__ = ["Replay"]


class Replay:
    """Tracks partitions from a snapshot's position to the end offset at the time when it was loaded."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._ends: dict[int, int] = {}

    def __bool__(self) -> bool:
        """Whether any partition is still being read again."""
        return bool(self._ends)

    def begin(self, partition: int, position: int, end: int) -> None:
        """Replay the offsets from ``position`` to before ``end``."""
        if position < end:
            self._ends[partition] = end

    def drop(self, partitions: Iterable[int]) -> None:
        """Stop following these partitions."""
        for partition in partitions:
            self._ends.pop(partition, None)

    def is_old(self, record: TopicRecord) -> bool:
        """Whether the record was written before the snapshot was loaded."""
        return record.offset() < self._ends.get(record.partition(), 0)

    def finish(self, positions: Mapping[int, int]) -> None:
        """End the replay of partitions whose next offset (``positions``) has reached their end."""
        self.drop([number for number, end in self._ends.items() if positions.get(number, end) >= end])
