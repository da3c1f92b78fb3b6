"""What a topic held before the tail began, brought in order with what the tail sees meanwhile. Pure.

A key's records lie in one partition, so the highest offset is the truth. The backfill keeps only the last record of
each key, and drops it where the tail has already seen a newer one: old state never overwrites new state, and old
rebalances never become events again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["BackfillMerge"]

R = TypeVar("R")


class BackfillMerge(Generic[R]):
    """Reading up to recorded ``ends`` (partition -> offset after the last old record)."""

    def __init__(self, ends: Mapping[int, int] | None = None) -> None:
        """Begin with these partitions, if any."""
        self._ends: dict[int, int] = {}
        self._last: dict[int, dict[bytes, R]] = {}
        self._newer: dict[int, set[bytes]] = {}
        self.expect(ends or {})

    def expect(self, ends: Mapping[int, int]) -> None:
        """Also read these; where the end is 0 (or the tail reads from the beginning) there is nothing to read."""
        for partition, end in ends.items():
            if end > 0:
                self._ends[partition], self._last[partition], self._newer[partition] = end, {}, set()

    def drop(self, partitions: Iterable[int]) -> None:
        """What is in these partitions is wanted no longer."""
        for partition in partitions:
            for each in (self._ends, self._last, self._newer):
                each.pop(partition, None)

    @property
    def done(self) -> bool:
        """Whether every partition was read up to its end."""
        return not self._ends

    @property
    def pending(self) -> frozenset[int]:
        """Partitions that are still being read."""
        return frozenset(self._ends)

    def seen_live(self, partition: int, key: bytes) -> None:
        """The tail saw a record of ``key``: what the backfill holds or will find is older."""
        if partition in self._newer:
            self._newer[partition].add(key)
            self._last[partition].pop(key, None)

    def add(self, partition: int, offset: int, key: bytes, record: R) -> None:
        """The backfill read a record; records at or after the end belong to the tail."""
        end = self._ends.get(partition)
        if end is not None and offset < end and key not in self._newer[partition]:
            self._last[partition][key] = record

    def reached(self, partition: int, position: int) -> list[R]:
        """The backfill's next offset in ``partition`` is ``position``: at the end, the last record of each key.

        Decided by position, not by the last record seen: compaction or a transaction's marker may have taken that.
        """
        end = self._ends.get(partition)
        if end is None or position < end:
            return []
        del self._ends[partition], self._newer[partition]
        return list(self._last.pop(partition).values())
