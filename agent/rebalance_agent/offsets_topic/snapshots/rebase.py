"""Reads partitions again for the sake of their snapshots alone, beside a tail that goes on and notices nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.offsets_topic.backfill_reader import BackfillReader
from rebalance_agent.offsets_topic.snapshots.reader import Snapshots

__all__ = ["SnapshotRebase"]


class SnapshotRebase:
    """What a store of snapshots needs to begin anew where it has none: the last old record of each key."""

    def __init__(self, snapshots: Snapshots, backfill: BackfillReader) -> None:
        """``backfill`` reads for ``snapshots`` alone."""
        self._snapshots = snapshots
        self._backfill = backfill

    def look(self, positions: Mapping[int, int]) -> None:
        """Ask what is missing of partitions that are known as a whole and read up to ``positions``."""
        missing = self._snapshots.missing(positions.keys() - self._backfill.pending)
        for partition in missing:
            if positions[partition] == 0:
                self._snapshots.begin(partition, (), None)
        self._backfill.expect({partition: positions[partition] for partition in missing})

    def read(self) -> None:
        """Read on, for a moment; nothing is done where nothing is missing."""
        for partition, base in self._backfill.read().items():
            self._snapshots.begin(partition, base, None)

    def drop(self, partitions: Iterable[int]) -> None:
        """These partitions are somebody else's now."""
        self._backfill.drop(partitions)

    def close(self) -> None:
        """Leave, whatever is still to be read."""
        self._backfill.drop(self._backfill.pending)
