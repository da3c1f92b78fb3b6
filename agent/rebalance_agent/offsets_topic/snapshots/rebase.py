"""Reads partitions again for the sake of their snapshots alone, beside a tail that goes on and notices nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.offsets_topic.backfill_reader import BackfillReader
from rebalance_agent.offsets_topic.snapshots.reader import Snapshots

__all__ = ["SnapshotRebase"]


class SnapshotRebase:
    """What a store of snapshots needs to begin anew where it has none: the last old record of each key."""

    def __init__(self, snapshots: Snapshots, old: BackfillReader) -> None:
        """``old`` reads for ``snapshots`` alone."""
        self._snapshots = snapshots
        self._old = old

    def look(self, positions: Mapping[int, int]) -> None:
        """Ask what is missing of partitions that are known as a whole and read up to ``positions``."""
        wanted = self._snapshots.missing(positions.keys() - self._old.pending)
        for partition in wanted:
            if positions[partition] == 0:
                self._snapshots.begin(partition, (), None)
        self._old.expect({partition: positions[partition] for partition in wanted})

    def read(self) -> None:
        """Read on, for a moment; nothing is done where nothing is missing."""
        for partition, base in self._old.read().items():
            self._snapshots.begin(partition, base, None)

    def drop(self, partitions: Iterable[int]) -> None:
        """These partitions are somebody else's now."""
        self._old.drop(partitions)

    def close(self) -> None:
        """Leave, whatever is still to be read."""
        self._old.drop(self._old.pending)
