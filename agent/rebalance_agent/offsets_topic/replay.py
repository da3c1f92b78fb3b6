"""Which records of the tail are read again, from a snapshot on, and whether any between them may be missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rebalance_agent.cluster.topic_reader import TopicRecord

__all__ = ["Replay"]


class Replay:
    """Follows partitions from a snapshot's position to the end that there was when it was loaded."""

    def __init__(self) -> None:
        """Begin with no partition."""
        self._ends: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._gaps: set[int] = set()

    def __bool__(self) -> bool:
        """Whether anything is still to be read again."""
        return bool(self._ends)

    def begin(self, partition: int, position: int, end: int) -> None:
        """Offsets from ``position`` to before ``end`` are read again."""
        if position < end:
            self._ends[partition], self._next[partition] = end, position

    def drop(self, partitions: Iterable[int]) -> None:
        """These are read no longer."""
        for partition in partitions:
            self._ends.pop(partition, None)
            self._next.pop(partition, None)
            self._gaps.discard(partition)

    def see(self, records: Sequence[TopicRecord]) -> None:
        """The tail read these, of groups or not, in their order.

        A gap is where compaction removed records, or where a transaction left its marker: nobody can tell.
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
        """Whether the record was there before the snapshot was loaded."""
        return record.offset() < self._ends.get(record.partition(), 0)

    def has_gap(self, partition: int) -> bool:
        """Whether offsets were missing since the snapshot, up to what was read last."""
        return partition in self._gaps

    def finish(self, positions: Mapping[int, int]) -> None:
        """The tail's next offsets are ``positions``: what has reached its end is through."""
        self.drop([number for number, end in self._ends.items() if positions.get(number, end) >= end])
