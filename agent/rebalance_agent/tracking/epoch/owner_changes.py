"""Passes each record's changes of owners in a consumer group to `DoublyOwned`, which finds partitions with two owners.

The coordinator gives a partition to another member only when the owner has revoked it or was removed. So a former owner
that still holds the partition was removed. Share groups are excluded, since several members own a partition on purpose.
Streams groups are excluded, since their clients do not report.
"""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import CurrentAssignment, GroupEpoch
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import beyond
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.epoch.recorded_group import RecordedGroup
from rebalance_agent.tracking.evidence.doubly_owned import DoublyOwned
from rebalance_agent.tracking.observations import EpochRecord

__all__ = ["OwnerChanges"]


class OwnerChanges:
    """Follows the changes of owners in one group whose coordinator computes the assignment."""

    def __init__(self, doubly_owned: DoublyOwned, records: EpochGroupRecords, recorded: RecordedGroup) -> None:
        """``records``, ``recorded``: the group's records and what they show; both change with each record."""
        self._doubly_owned, self._records, self._recorded = doubly_owned, records, recorded

    def take(self, record: EpochRecord, old: CurrentAssignment | None, *, continuous: bool) -> float:
        """Process a record; return the partition-seconds with two owners that the record shows (see `DoublyOwned`).

        ``old``: the member's current assignment before the record. ``continuous``: no record is missing before this
        record, and no other observer counted it.
        """
        if record.group_type is not GroupType.CONSUMER or not record.live:
            return 0.0
        if not continuous:
            self._doubly_owned.forget()
        elif isinstance(record.value, GroupEpoch):
            self._doubly_owned.start(record.value.epoch, record.timestamp_ms)
        elif record.kind is CurrentAssignment:
            return self._take_assignment(record, old)
        return 0.0

    def _take_assignment(self, record: EpochRecord, old: CurrentAssignment | None) -> float:
        name, at_ms, new = record.subject, record.timestamp_ms, self._records.current(record.subject)
        owned, named = self._records.backlog.owned, self._recorded.named
        lost = beyond(old.held, new.held if new else {}) if old else {}
        unowned = {
            topic: left
            for topic, numbers in lost.items()
            if (left := tuple(number for number in numbers if (topic, number) not in owned))
        }
        if new is not None:
            self._doubly_owned.rejoin(name, at_ms)
        elif unowned:
            member = self._records.members.get(name)
            client_id, host = (member.client_id, member.client_host) if member else ("", "")
            self._doubly_owned.remove(name, client_id, host, named(unowned), at_ms, record.seen_ms)
        if not self._doubly_owned.awaiting:
            return 0.0
        return self._doubly_owned.move(named(new.assigned) if new else (), named(unowned), at_ms)
