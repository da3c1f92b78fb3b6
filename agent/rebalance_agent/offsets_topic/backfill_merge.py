"""Merges the records from before the tail began with the records that the tail reads in the meantime. Pure.

All records of a key are in one partition, so the record with the highest offset is valid. The backfill keeps the last
record of each key, and drops it if the tail has read a newer one: old state never overwrites new state, and old
rebalances never become events again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["BackfillMerge"]

R = TypeVar("R")


class BackfillMerge(Generic[R]):
    """The last old record of each key, read up to ``ends`` (partition -> offset after the last old record)."""

    def __init__(self, ends: Mapping[int, int] | None = None) -> None:
        """Expect these partitions, if any."""
        self._ends: dict[int, int] = {}
        self._last: dict[int, dict[bytes, R]] = {}
        self._newer: dict[int, set[bytes]] = {}
        self.expect(ends or {})

    def expect(self, ends: Mapping[int, int]) -> None:
        """Add partitions to backfill; a partition whose end is 0 has nothing to read."""
        for partition, end in ends.items():
            if end > 0:
                self._ends[partition], self._last[partition], self._newer[partition] = end, {}, set()

    def drop(self, partitions: Iterable[int]) -> None:
        """Discard these partitions and their records."""
        for partition in partitions:
            for state in (self._ends, self._last, self._newer):
                state.pop(partition, None)

    @property
    def done(self) -> bool:
        """Whether every partition was read up to its end."""
        return not self._ends

    @property
    def ends(self) -> Mapping[int, int]:
        """Partition that is still being read -> the offset after its last old record."""
        return self._ends

    @property
    def pending(self) -> frozenset[int]:
        """Partitions that are still being read."""
        return frozenset(self._ends)

    def seen_live(self, partition: int, key: bytes) -> None:
        """Process a record of ``key`` that the tail read: drop the old record, even if it has not been read yet."""
        if partition in self._newer:
            self._newer[partition].add(key)
            self._last[partition].pop(key, None)

    def add(self, partition: int, offset: int, key: bytes, record: R) -> None:
        """Process a record that the backfill read; records at or after the end belong to the tail."""
        end = self._ends.get(partition)
        if end is not None and offset < end and key not in self._newer[partition]:
            self._last[partition][key] = record

    def reached(self, partition: int, position: int) -> list[R]:
        """Return the last record of each key, once the backfill's next offset (``position``) is at the end; else empty.

        The end is detected by position, since the last offset may have been compacted or be a transaction's marker.
        """
        end = self._ends.get(partition)
        if end is None or position < end:
            return []
        del self._ends[partition], self._newer[partition]
        return list(self._last.pop(partition).values())
