"""Keeps the members' reports about one group's rebalances as compressed JSON, bounded in their decoded bytes.

Compression makes a report with many similar names a thousand times smaller, so the compressed size bounds neither the
time nor the memory that reading it takes.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from rebalance_agent.api.shapes import Rebalance
from rebalance_agent.api.view_shapes import reports_about
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.events import Callback, MemberEvent

__all__ = ["MEAN_LINE_BYTES", "REPORT_LINE_BYTES", "REPORT_TEXT_MAX", "DecodedReports", "HistoryReports", "KeptReport"]

REPORT_LINE_BYTES = 16_384
"""Maximum number of bytes of a report's JSON. A longer report is kept without its partitions and the ends of its
texts."""

REPORT_TEXT_MAX = 1_000
"""Maximum number of characters kept of an error or a reason in a report that was longer than `REPORT_LINE_BYTES`."""

MEAN_LINE_BYTES = 2_600
"""Largest mean of the bytes of JSON per report in a full history: four times those of an ordinary report."""


class KeptReport(NamedTuple):
    """A packed report, and the fields that determine to which rebalance it belongs. ``line_bytes``: of its JSON."""

    event_id: str
    timestamp_ms: int
    generation: int
    callback: Callback
    packed: bytes
    line_bytes: int


class HistoryReports:
    """The last reports of one group's members, the oldest first."""

    def __init__(self, reports_max: int) -> None:
        """Keep up to ``reports_max`` reports, with up to `MEAN_LINE_BYTES` times as many bytes of JSON."""
        self._reports: deque[KeptReport] = deque()
        self._reports_max, self._lines_bytes_max = reports_max, MEAN_LINE_BYTES * reports_max
        self._lines_bytes = 0

    @property
    def size(self) -> int:
        """The bytes of packed reports and their ids."""
        return sum(len(report.packed) + len(report.event_id) for report in self._reports)

    def add(self, event: MemberEvent) -> None:
        """Keep a report, and drop older ones to make room. One that is too long even when shortened is not kept."""
        line = json_line(event)
        if len(line) > REPORT_LINE_BYTES:
            line = json_line(_shortened(event))
        if len(line) > REPORT_LINE_BYTES:
            return
        packed = zlib.compress(line, level=1)
        self._reports.append(
            KeptReport(event.event_id, event.timestamp_ms, event.generation, event.callback, packed, len(line))
        )
        self._lines_bytes += len(line)
        while len(self._reports) > self._reports_max or self._lines_bytes > self._lines_bytes_max:
            self._lines_bytes -= self._reports.popleft().line_bytes

    def clear(self) -> None:
        """Drop all reports."""
        self._reports.clear()
        self._lines_bytes = 0

    def all(self) -> tuple[KeptReport, ...]:
        """Return the reports, the oldest first."""
        return tuple(self._reports)


class DecodedReports:
    """Decodes reports. Those of the last group stay decoded: a page reads many rebalances of a group. Thread-safe."""

    def __init__(self) -> None:
        """Start without decoded reports."""
        self._lock = threading.Lock()
        self._group, self._events = "", dict[bytes, MemberEvent]()

    def about(self, group: str, line: Rebalance, kept: Sequence[KeptReport]) -> tuple[MemberEvent, ...]:
        """Return those of the ``kept`` reports of a group that are about one of its rebalances, oldest first."""
        # If a post is repeated or a topic is read again, the same report arrives twice.
        latest = {report.event_id: report for report in kept}
        packed = [report.packed for report in reports_about(line, latest.values())]
        with self._lock:
            known = self._events if self._group == group else {}
        found = {each: known.get(each) or _unpack(each) for each in packed}
        with self._lock:
            self._group, self._events = group, _still_kept(known, kept) | found
        return tuple(found[each] for each in packed)


def _still_kept(events: dict[bytes, MemberEvent], kept: Iterable[KeptReport]) -> dict[bytes, MemberEvent]:
    return {report.packed: events[report.packed] for report in kept if report.packed in events}


def _shortened(event: MemberEvent) -> MemberEvent:
    error, reason = ((text or "")[:REPORT_TEXT_MAX] or None for text in (event.error, event.reason))
    return replace(event, partitions={}, error=error, reason=reason)


def _unpack(packed: bytes) -> MemberEvent:
    return cast("MemberEvent", event_from_json(json_object(zlib.decompress(packed))))
