"""Reads partitions again, only for their snapshots; the tail continues unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.offsets_topic.backfill_reader import BackfillReader
from rebalance_agent.offsets_topic.snapshots.store import SnapshotStore

__all__ = ["SnapshotRebase"]


class SnapshotRebase:
    """Provides a store with the last old record of each key, for partitions whose snapshots must start again."""

    def __init__(self, snapshots: SnapshotStore, backfill: BackfillReader) -> None:
        """``backfill`` is used only for ``snapshots``."""
        self._snapshots = snapshots
        self._backfill = backfill

    def look(self, positions: Mapping[int, int]) -> None:
        """Begin to read the partitions that the store lacks, among the partitions read up to ``positions``."""
        missing = self._snapshots.missing(positions.keys() - self._backfill.pending)
        for partition in missing:
            if positions[partition] == 0:
                self._snapshots.begin(partition, (), None)
        self._backfill.expect({partition: positions[partition] for partition in missing})

    def read(self) -> None:
        """Read one batch, if there are records to read."""
        for partition, base in self._backfill.read().items():
            self._snapshots.begin(partition, base, None)

    def drop(self, partitions: Iterable[int]) -> None:
        """Stop reading these partitions: another observer owns them now."""
        self._backfill.drop(partitions)

    def close(self) -> None:
        """Stop reading all partitions."""
        self._backfill.drop(self._backfill.pending)
