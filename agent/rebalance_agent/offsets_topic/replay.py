"""Which records of the tail are read again after a snapshot, and whether records between them may be missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rebalance_agent.cluster.topic_reader import TopicRecord

__all__ = ["Replay"]


class Replay:
    """Follows partitions from a snapshot's position to the end offset at the time when it was loaded."""

    def __init__(self) -> None:
        """Replay no partition yet."""
        self._ends: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._gaps: set[int] = set()

    def __bool__(self) -> bool:
        """Whether any partition is still being read again."""
        return bool(self._ends)

    def begin(self, partition: int, position: int, end: int) -> None:
        """Replay the offsets from ``position`` to before ``end``."""
        if position < end:
            self._ends[partition], self._next[partition] = end, position

    def drop(self, partitions: Iterable[int]) -> None:
        """Stop following these partitions."""
        for partition in partitions:
            self._ends.pop(partition, None)
            self._next.pop(partition, None)
            self._gaps.discard(partition)

    def see(self, records: Sequence[TopicRecord]) -> None:
        """Take all records that the tail read, also offset commits, in their order.

        Compaction and transaction markers both leave gaps in the offsets, which cannot be told apart.
        """
        if not self._ends:
            return
        for record in records:
            partition, offset = record.partition(), record.offset()
            if offset < self._ends.get(partition, 0):
                if offset != self._next[partition]:
                    self._gaps.add(partition)
                self._next[partition] = offset + 1

    def is_old(self, record: TopicRecord) -> bool:
        """Whether the record was written before the snapshot was loaded."""
        return record.offset() < self._ends.get(record.partition(), 0)

    def has_gap(self, partition: int) -> bool:
        """Whether offsets were missing between the snapshot's position and the last record read."""
        return partition in self._gaps

    def finish(self, positions: Mapping[int, int]) -> None:
        """End the replay of partitions whose next offset (``positions``) has reached their end."""
        self.drop([number for number, end in self._ends.items() if positions.get(number, end) >= end])
