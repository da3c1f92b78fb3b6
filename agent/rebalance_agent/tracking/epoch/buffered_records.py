"""The first records of a group whose coordinator assigns, kept until it is known whether it is new.

While a partition's past is read beside its tail, nobody can say of a group whether it was there before. If nothing of
it turns up in the past, and it began with a first epoch, then all that there is of it was seen live.
"""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import EpochMember, GroupEpoch
from rebalance_agent.tracking.observations import EpochRecord

__all__ = ["EARLY_MAX", "FIRST_EPOCH", "BufferedRecords"]

EARLY_MAX = 1_000
"""Records of a group that are kept: one of 200 members starts with as many."""

FIRST_EPOCH = 2
"""Groups start with epoch 1, or 2 where their coordinator counts the empty group as the first one (Kafka 4.3)."""


class BufferedRecords:
    """Keeps the live records of one group, while there are no others."""

    def __init__(self) -> None:
        """Begin with none."""
        self._records: list[EpochRecord] = []
        self._old = False

    def add(self, record: EpochRecord) -> None:
        """A record was read. What is left of an earlier life of the group, tombstones, makes it no older."""
        if record.live and not self._old:
            self._records.append(record)
        if len(self._records) > EARLY_MAX or (not record.live and record.value is not None):
            self._old = True
            self._records.clear()

    @property
    def records(self) -> tuple[EpochRecord, ...]:
        """All records of a group that is new; of another none. One that migrates to another type goes on as it was."""
        values = [each.value for each in self._records]
        first = next((each.epoch for each in values if isinstance(each, GroupEpoch)), FIRST_EPOCH + 1)
        migrated = any(isinstance(each, EpochMember) and each.classic for each in values)
        return () if first > FIRST_EPOCH or migrated else tuple(self._records)
