"""Selects the reports of leaders that were written before the start and still need an event. Pure.

A group's reports and the observers' events about them are in one partition of the events topic, each event after its
report. An event that closes an episode also covers all earlier reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Self, cast

from rebalance_agent.model.baseline import NAME_BYTES_MAX
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.work_share.led_record import LedRecord, waiting_report
from rebalance_agent.offsets_topic.work_share.set_aside import SetAside, WaitingRecord
from rebalance_agent.visible_names import is_text

__all__ = ["CLOCKS_MS", "ClosingEvent", "LedBacklog"]

CLOCKS_MS = 60_000
"""Largest difference (ms) between the clocks of a coordinator and of a gateway or leader: an event from records has the
coordinator's time."""


class ClosingEvent(NamedTuple):
    """The parts of a published event that identify its generation; the event closes an episode."""

    group: str
    generation: int
    timestamp_ms: int
    source: Source

    @classmethod
    def of(cls, data: object, cluster_id: str) -> Self | None:
        """Return the parts of an event's JSON object; None for other events, and for all but an event's last part."""
        match data:
            case {
                "kind": GenerationEvent.KIND,
                "closes_episode": True,
                "cluster_id": str(named),
                "group": str(group),
                "generation": int(generation),
                "timestamp_ms": int(timestamp_ms),
                "source": Source.FRAMES | Source.RECORDS as source,
                "part": int(part),
                "parts": int(parts),
            } if named == cluster_id and part == parts - 1 and is_text(group, NAME_BYTES_MAX):
                return cls(group, generation, timestamp_ms, Source(source))
            case _:
                return None

    def is_about(self, report: LedGenerationEvent) -> bool:
        """Whether the event is about the reported generation, not one of a group that was deleted and recreated."""
        apart_ms = abs(report.timestamp_ms - self.timestamp_ms)
        return report.generation == self.generation and apart_ms <= (CLOCKS_MS if self.source is Source.RECORDS else 0)


class LedBacklog:
    """Collects reports and events in the order of their topic, in bounded memory (`SetAside`).

    If there are too many reports, the oldest ones of a group are dropped.
    """

    def __init__(self) -> None:
        """Start without reports."""
        self._unpublished, self._published = SetAside(), SetAside()

    def add(self, report: LedGenerationEvent) -> None:
        """Add the next report."""
        if waiting := waiting_report(report, report.timestamp_ms, replayed=True):
            self._unpublished.put(report.group.encode(), waiting)

    def add_event(self, event: ClosingEvent) -> None:
        """Remove the reports that ``event`` covers; the last of them shows the group's state before the others."""
        self._publish(event.group.encode(), lambda waiting: event.is_about(_report(waiting)))

    def publish_all(self) -> None:
        """Treat all reports as if there were events about them."""
        for group in self._unpublished.groups():
            self._publish(group, lambda _waiting: True)

    @property
    def first_ms(self) -> int | None:
        """The time (epoch ms) of the earliest report without an event; None if there is none."""
        return min((each.seen_ms for each in self._unpublished.firsts()), default=None)

    def take(self) -> Iterator[tuple[WaitingRecord, bool]]:
        """Remove and yield the reports, each group's in order, and whether the report needs an event.

        If a group has a report with an event, only the last one is yielded, before the others.
        """
        for group in {*self._published.groups(), *self._unpublished.groups()}:
            if group in self._published:
                yield self._published.pop(group), False
            while group in self._unpublished:
                yield self._unpublished.pop(group), True

    def _publish(self, group: bytes, matches: Callable[[WaitingRecord], bool]) -> None:
        if last := self._unpublished.pop_through(group, matches):
            self._published.pop_through(group, lambda _waiting: True)
            self._published.put(group, last)


def _report(waiting: WaitingRecord) -> LedGenerationEvent:
    return cast("LedRecord", waiting.message).event
