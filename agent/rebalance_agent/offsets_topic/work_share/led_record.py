"""A generation that its leader reported, in the form of a record of its group (`TopicRecord`)."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.model.baseline import NAME_BYTES_MAX
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.work_share.set_aside import WaitingRecord

__all__ = ["MEMBER_BYTES", "LedRecord", "waiting_report"]

MEMBER_BYTES = 200
"""Memory (bytes) of one member in a report, without its subscription and assignment: its names and Python's objects."""


@dataclass(frozen=True, slots=True)
class LedRecord:
    """The bytes of a record's key, and the event in place of its value."""

    event: LedGenerationEvent
    group_key: bytes

    def __len__(self) -> int:
        """The memory (bytes) of the report's members."""
        return sum(MEMBER_BYTES + len(each.subscription) + len(each.assignment) for each in self.event.members)

    def partition(self) -> int:
        """Return 0, since a report has no position in the offsets topic."""
        return 0

    def offset(self) -> int:
        """Return -1, since a report has no position in the offsets topic."""
        return -1

    def key(self) -> bytes:
        """Return the key of the group's records."""
        return self.group_key

    def value(self) -> bytes:
        """Return no bytes: `event` has the value. It is not None, which would delete the group."""
        return b""

    def headers(self) -> None:
        """Return None: there are no headers."""
        return

    def timestamp(self) -> tuple[int, int]:
        """Return the time of the report (epoch ms)."""
        return 0, self.event.timestamp_ms

    def leader_epoch(self) -> int | None:
        """Return None: the coordinator's epoch is unknown."""
        return None


def waiting_report(event: LedGenerationEvent, seen_ms: int, *, replayed: bool = False) -> WaitingRecord | None:
    """Return a report as a record that waits; None if Kafka's protocol has no group with such a long name.

    ``replayed``: the report was written before the observer started.
    """
    if len(event.group.encode()) > NAME_BYTES_MAX:
        return None
    led = LedRecord(event, GROUP_METADATA.key.encode(2, {"group": event.group}))
    return WaitingRecord(led, seen_ms, replayed=replayed, gap_offset=-1)
