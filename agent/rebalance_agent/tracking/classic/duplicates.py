"""Whether a record of a classic group is news: what is known is read again, and the clocks that date it are set."""

from __future__ import annotations

from rebalance_agent.model.group import GroupSnapshot
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.observations import GroupRecord

__all__ = ["CLOCK_STEP_MS", "RecordDeduplicator"]

CLOCK_STEP_MS = 600_000
"""A live record so much older than the one before it is new: the brokers' clock was set."""


class RecordDeduplicator:
    """Knows the latest record of one group, and what else was written in the same moment."""

    def __init__(self) -> None:
        """Begin with none."""
        self._latest: Generation | None = None
        self._at_latest: tuple[GroupSnapshot, ...] = ()

    def take(self, generation: Generation) -> None:
        """A record was news: it is the latest one now."""
        same_moment = self._latest is not None and generation.timestamp_ms == self._latest.timestamp_ms
        self._at_latest = (*(self._at_latest if same_moment else ()), generation.value)
        self._latest = generation

    def is_older(self, record: GroupRecord) -> bool:
        """Whether it is from before the latest one: a replay, unless so much that a clock was set."""
        older_ms = self._latest.timestamp_ms - record.timestamp_ms if self._latest else 0
        stepped = record.live and not record.replayed and older_ms >= CLOCK_STEP_MS
        return older_ms > 0 and not stepped

    def is_stale(self, record: GroupRecord, value: GroupSnapshot) -> bool:
        """Whether it is known already, or from before the latest one and of no later generation; ``value``: its own."""
        latest, timestamp_ms = self._latest, record.timestamp_ms
        if latest is None or value.generation > latest.number:
            return False
        if timestamp_ms == latest.timestamp_ms and value.generation == latest.number:
            return value in self._at_latest
        return timestamp_ms == latest.timestamp_ms or self.is_older(record)
