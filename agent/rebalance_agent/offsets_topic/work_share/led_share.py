"""Gives the generations that leaders report the same shares of work, and the same bounds, as records of groups.

Where the offsets topic cannot be read, any client that can post or write events can report generations of any group.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.model.baseline import NAME_BYTES_MAX
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.work_share.fair_share import FairShare
from rebalance_agent.offsets_topic.work_share.record_claims import bounded_claims
from rebalance_agent.offsets_topic.work_share.set_aside import WaitingRecord
from rebalance_agent.tracking.observations import GroupRecord
from rebalance_agent.tracking.observed_record import observed_generation

__all__ = ["LedShare"]


@dataclass(frozen=True, slots=True)
class _Led:
    """A reported generation in the form of a record of its group (`TopicRecord`)."""

    event: LedGenerationEvent
    group_key: bytes

    def __len__(self) -> int:
        return sum(len(member.subscription) + len(member.assignment) for member in self.event.members)

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return -1

    def key(self) -> bytes:
        return self.group_key

    def value(self) -> None:
        return None  # `event` has it

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 0, self.event.timestamp_ms

    def leader_epoch(self) -> int | None:
        return None


class LedShare:
    """Puts `GroupRecord` observations of reported generations, each group's in order. Any thread may call it."""

    def __init__(self, context: CollectorContext, hidden: Callable[[], bool]) -> None:
        """``hidden``: whether the offsets topic cannot be read. Otherwise, its records show all that leaders report."""
        self._context, self._hidden = context, hidden
        self._topic_sizes: Mapping[str, int] = {}
        self._share = FairShare(context, self._observed)
        self._using = threading.Lock()

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics: claims of other partitions are bounded."""
        self._topic_sizes = partitions

    def put(self, event: LedGenerationEvent) -> None:
        """Process a reported generation, now or when its group may cause work again."""
        name = event.group.encode()
        if not self._hidden() or len(name) > NAME_BYTES_MAX:  # an event may name what Kafka's protocol cannot
            return
        led = _Led(event, GROUP_METADATA.key.encode(2, {"group": event.group}))
        with self._using:
            self._share.release()
            self._share.put(WaitingRecord(led, self._context.clock.now_ms(), replayed=False, gap_offset=-1))

    def release(self) -> None:
        """Process waiting generations. Call it regularly."""
        if self._hidden():  # else the groups that are over their budget are those of the offsets topic
            with self._using:
                self._share.release()

    def _observed(self, waiting: WaitingRecord) -> GroupRecord:
        record = observed_generation(cast("_Led", waiting.message).event, waiting.seen_ms)
        value = record.value and bounded_claims(record.value, self._topic_sizes)
        return replace(record, value=value, skipped=waiting.skipped)
