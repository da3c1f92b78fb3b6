"""Finds gaps in the offsets that the tail reads. Pure.

Compaction and transaction markers both leave gaps in the offsets, which look the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from rebalance_agent.cluster.topic_reader import TopicRecord

__all__ = ["OffsetGaps"]


class OffsetGaps:
    """The gaps in the partitions that the tail reads."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._next: dict[int, int] = {}
        self._after: dict[int, list[int]] = {}

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Follow partitions, each from its offset (or `BEGINNING`): a higher first offset follows a gap."""
        self.drop(offsets)
        self._next |= {partition: max(offset, 0) for partition, offset in offsets.items()}

    def drop(self, partitions: Iterable[int]) -> None:
        """Stop following these partitions."""
        for partition in partitions:
            self._next.pop(partition, None)
            self._after.pop(partition, None)

    def see(self, records: Sequence[TopicRecord]) -> None:
        """Process all records that the tail read, including offset commits, in their order."""
        ends = {record.partition(): record.offset() + 1 for record in records}
        if sum(end - self._next.get(partition, 0) for partition, end in ends.items()) != len(records):
            self._find(records)
        self._next |= ends

    def _find(self, records: Sequence[TopicRecord]) -> None:
        self._after = {partition: offsets[-1:] for partition, offsets in self._after.items()}
        following = dict(self._next)
        for record in records:
            partition, offset = record.partition(), record.offset()
            if offset > following.get(partition, 0):
                self._after.setdefault(partition, []).append(offset)
            following[partition] = offset + 1

    def before(self, record: TopicRecord) -> int:
        """Return the offset of the last record, up to this one, before which offsets were missing; -1 if none was.

        ``record`` must be among the records of the last `see`.
        """
        offsets = self._after.get(record.partition(), [])
        index = bisect_right(offsets, record.offset())
        return offsets[index - 1] if index else -1
