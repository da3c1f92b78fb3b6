"""Gives the generations that leaders report the same shares of work, and the same bounds, as records of groups.

Where the offsets topic cannot be read, any client that can post or write events can report generations of any group.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import record_bytes
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.work_share.fair_share import FairShare
from rebalance_agent.offsets_topic.work_share.led_backlog import LedBacklog
from rebalance_agent.offsets_topic.work_share.led_record import LedRecord, waiting_report
from rebalance_agent.offsets_topic.work_share.record_claims import bounded_claims
from rebalance_agent.offsets_topic.work_share.set_aside import SetAside, WaitingRecord
from rebalance_agent.offsets_topic.work_share.work_budget import work_seconds
from rebalance_agent.tracking.observations import GroupRecord
from rebalance_agent.tracking.observed_record import observed_generation

__all__ = ["LedShare"]


class LedShare:
    """Puts `GroupRecord` observations of reported generations, each group's in order. Any thread may call it.

    Before `begin`, reports wait (`SetAside`), because earlier reports of their groups may be in the events topic.
    """

    def __init__(self, context: CollectorContext, hidden: Callable[[], bool], *, publishes: bool = True) -> None:
        """``hidden``: whether the offsets topic cannot be read. Otherwise, its records show all that leaders report.

        ``publishes``: whether events are published to the events topic. Otherwise it is unknown which reports from
        before the start had an event, so they only show the groups' state.
        """
        self._context, self._hidden, self._publishes = context, hidden, publishes
        self._topic_sizes: Mapping[str, int] = {}
        self._share = FairShare(context, self._observed)
        self._using = threading.Lock()
        self._early = SetAside()
        self._without_topic = False
        self.begun = False

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics: claims of other partitions are bounded."""
        self._topic_sizes = partitions

    @property
    def due(self) -> bool:
        """Whether `begin` should be called now. The topics are known by then, so events can have partition counts."""
        return not self.begun and bool(self._topic_sizes) and self._hidden()

    def begin(self, backlog: LedBacklog) -> None:
        """Process the reports from before the start, then the reports that waited for this call.

        It waits while the inbox is full.
        """
        if not self._publishes:
            backlog.publish_all()
        for waiting, needs_event in backlog.take():
            record = self._observed(waiting._replace(seen_ms=self._context.clock.now_ms()))
            work_s = work_seconds(record.value, len(waiting.message))
            self._context.inbox.put(replace(record, live=needs_event), record_bytes(waiting.message), work_s)
        with self._using:
            for group in self._early.groups():
                while group in self._early:
                    self._share.put(self._early.pop(group))
            self.begun = True

    def put(self, event: LedGenerationEvent) -> None:
        """Process a reported generation, now or when its group may cause work again."""
        if not self._hidden():
            return
        waiting = waiting_report(event, self._context.clock.now_ms())
        if waiting is None:
            return
        with self._using:
            if not self.begun:
                self._early.put(event.group.encode(), waiting)
                return
            self._share.release()
            self._share.put(waiting)

    def without_topic(self) -> None:
        """Begin as soon as that is due, without earlier reports: the events topic may not be read."""
        self._without_topic = True

    def release(self) -> None:
        """Process waiting generations. Call it several times a second."""
        if self._without_topic and self.due:
            self.begin(LedBacklog())
        if self._hidden():  # else the groups that are over their budget are those of the offsets topic
            with self._using:
                self._share.release()

    def _observed(self, waiting: WaitingRecord) -> GroupRecord:
        record = observed_generation(cast("LedRecord", waiting.message).event, waiting.seen_ms)
        value = record.value and bounded_claims(record.value, self._topic_sizes)
        return replace(record, value=value, replayed=waiting.replayed, skipped=waiting.skipped)
