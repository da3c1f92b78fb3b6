"""Bounds the memory of members' reports, in bytes."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.model.events import MemberEvent
from rebalance_agent.model.partition_ranges import PartitionRanges

__all__ = ["REPORT_BYTES", "REPORT_BYTES_MAX", "ReportBudget", "report_bytes"]

REPORT_BYTES_MAX = 100 * 2**20
"""Bytes of the reports of all groups together: those of 60,000 members, or ten of each in 300 groups of 20. It bounds
memory if a client invents groups and members: beyond it, new members' reports are refused until old ones were dropped,
and members that have reported before replace their own oldest ones."""

REPORT_BYTES = 1_700
"""Bytes of a report without its texts: its objects, and its share of the tables that hold it."""

RANGES_BYTES = 200
"""Bytes of one topic in a report: its `PartitionRanges` and its entry in the table."""

NUMBER_BYTES = 36
"""Bytes of one partition that is a number and no range."""


class ReportBudget:
    """The bytes (``left``) that are left for further reports of all groups of a tracker together."""

    def __init__(self, size_bytes: int = REPORT_BYTES_MAX) -> None:
        """``size_bytes``: of all reports together."""
        self.left = size_bytes


def report_bytes(event: MemberEvent) -> int:
    """Return the memory of a report in bytes: ranges and texts count with their characters."""
    texts = (event.event_id, event.group, event.client_id, event.member_id, event.process)
    optional = (event.instance_id, event.host, event.error, event.reason)
    ranges = sum(len(topic) + _ranges_bytes(numbers) for topic, numbers in event.partitions.items())
    return REPORT_BYTES + ranges + sum(map(len, texts)) + sum(len(text) for text in optional if text)


def _ranges_bytes(numbers: Sequence[int]) -> int:
    return RANGES_BYTES + len(numbers.text) if isinstance(numbers, PartitionRanges) else NUMBER_BYTES * len(numbers)
