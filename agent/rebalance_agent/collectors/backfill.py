"""What a topic held before the tail began, brought in order with what the tail sees meanwhile. Pure.

A key's records lie in one partition, so the highest offset is the truth. The backfill keeps only the last record of
each key, and drops it where the tail has already seen a newer one: old state never overwrites new state, and old
rebalances never become events again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

__all__ = ["Backfill"]

R = TypeVar("R")


class Backfill(Generic[R]):
    """Reading up to recorded ``ends`` (partition -> offset after the last old record)."""

    def __init__(self, ends: Mapping[int, int]) -> None:
        """Partitions whose end is 0 (or that the tail reads from their beginning) have nothing to read."""
        self._ends = {partition: end for partition, end in ends.items() if end > 0}
        self._last: dict[int, dict[bytes, R]] = {partition: {} for partition in self._ends}
        self._newer: dict[int, set[bytes]] = {partition: set() for partition in self._ends}

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
