"""The first live records of an epoch group, buffered until it is known whether the group is new.

While a partition is backfilled and tailed at the same time, a group in the tail may have existed before. If the
backfill finds no record of the group, and the group's first record has a first epoch, then all records of the group
were read live.
"""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import EpochMember, GroupEpoch
from rebalance_agent.tracking.observations import EpochRecord

__all__ = ["BUFFERED_MAX", "FIRST_EPOCH", "BufferedRecords"]

BUFFERED_MAX = 1_000
"""Maximum number of records buffered per group: a group of 200 members starts with about this many."""

FIRST_EPOCH = 2
"""Highest epoch in a new group's first record: 1, or 2 if the coordinator counts the empty group, too (Kafka 4.3)."""


class BufferedRecords:
    """The live records of one group, kept as long as no earlier record is found."""

    def __init__(self) -> None:
        """Start without records."""
        self._records: list[EpochRecord] = []
        self._old = False

    def add(self, record: EpochRecord) -> None:
        """Add a record. Tombstones in the backfill belong to a deleted group of this name; this group may be new."""
        if record.live and not self._old:
            self._records.append(record)
        if len(self._records) > BUFFERED_MAX or (not record.live and record.value is not None):
            self._old = True
            self._records.clear()

    @property
    def records(self) -> tuple[EpochRecord, ...]:
        """All records if the group is new, otherwise none. A group that migrated from another type is not new."""
        values = [record.value for record in self._records]
        first = next((value.epoch for value in values if isinstance(value, GroupEpoch)), FIRST_EPOCH + 1)
        migrated = any(isinstance(value, EpochMember) and value.classic for value in values)
        return () if first > FIRST_EPOCH or migrated else tuple(self._records)
