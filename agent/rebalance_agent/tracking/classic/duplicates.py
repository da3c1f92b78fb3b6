"""Recognises duplicate and outdated records of a classic group, even if a broker's clock was set back."""

from __future__ import annotations

from rebalance_agent.model.group import GroupSnapshot
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.observations import GroupRecord

__all__ = ["CLOCK_STEP_MS", "RecordDeduplicator"]

CLOCK_STEP_MS = 600_000
"""A live record at least this much (ms) older than the last record is new: the broker's clock was set back."""


class RecordDeduplicator:
    """The latest record of one group, and the other records with the same timestamp."""

    def __init__(self) -> None:
        """Start without a record."""
        self._latest: Generation | None = None
        self._at_latest: tuple[GroupSnapshot, ...] = ()

    def take(self, generation: Generation) -> None:
        """Set the latest record."""
        same_moment = self._latest is not None and generation.timestamp_ms == self._latest.timestamp_ms
        self._at_latest = (*(self._at_latest if same_moment else ()), generation.value)
        self._latest = generation

    def is_older(self, record: GroupRecord) -> bool:
        """Whether the record is older than the latest record for a reason other than a clock that was set back."""
        older_ms = self._latest.timestamp_ms - record.timestamp_ms if self._latest else 0
        stepped = record.live and not record.replayed and older_ms >= CLOCK_STEP_MS
        return older_ms > 0 and not stepped

    def is_stale(self, record: GroupRecord, value: GroupSnapshot) -> bool:
        """Whether the record is a duplicate, or is older than the latest record and has no later generation.

        ``value``: the record's value.
        """
        latest, timestamp_ms = self._latest, record.timestamp_ms
        if latest is None or value.generation > latest.number:
            return False
        if timestamp_ms == latest.timestamp_ms and value.generation == latest.number:
            return value in self._at_latest
        return timestamp_ms == latest.timestamp_ms or self.is_older(record)
