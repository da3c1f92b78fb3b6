"""The offsets before which the offsets topic need not be read again, since all results were reported. Pure.

An observer that starts from the last record of each key before such a position, and continues reading from there,
reaches the same conclusions as an observer that never stopped: at this position no group is in the middle of a
rebalance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping

from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord, Observation

__all__ = ["HELD_MAX", "SPANS_MAX", "Coverage"]

HELD_MAX = 1_000
"""Maximum number of records of an unsettled group that are tracked individually; later records are released with the
last one."""

SPANS_MAX = 1_000
"""Maximum number of rebalances of one partition that are tracked individually while an older rebalance is unsettled;
beyond it, the oldest rebalances are merged."""


class _Held:
    """A group's records as (offset, timestamp), starting with the first one whose rebalance has not settled."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.last = -1
        self._records: deque[tuple[int, int]] = deque()

    def __bool__(self) -> bool:
        return bool(self._records)

    @property
    def first(self) -> int:
        return self._records[0][0]

    def add(self, offset: int, timestamp_ms: int) -> None:
        self.last = offset
        if len(self._records) < HELD_MAX:
            self._records.append((offset, timestamp_ms))
        else:
            self._records[-1] = (self._records[-1][0], max(self._records[-1][1], timestamp_ms))

    def release(self, until_ms: int) -> tuple[int, int] | None:
        """Remove records up to ``until_ms``; return the offsets of the first and the last of them."""
        gone = []
        while self._records and self._records[0][1] <= until_ms:
            gone.append(self._records.popleft()[0])
        return (gone[0], gone[-1] if self._records else self.last) if gone else None


class Coverage:
    """Processes a tracker's events and observations. Call it with each event, and then with the event's observation.

    No snapshot may end inside a rebalance, settled or not. So in addition to the records of unsettled groups
    (``held``), it keeps the offset ranges of settled rebalances (``spans``) while an older record of another group is
    held. A snapshot also must not end between records of one batch of the coordinator, which have the same timestamp.
    """

    def __init__(self, unsettled: Callable[[str], bool]) -> None:
        """``unsettled``: returns whether the tracker still has events to report about a group's records."""
        self._unsettled = unsettled
        self._held: dict[str, _Held] = {}
        self._spans: dict[int, list[tuple[int, int]]] = {}
        self._batches: dict[str, tuple[int, int, int]] = {}

    def event(self, event: Event) -> None:
        """Process an event of the tracker: the rebalance that it closes and all earlier ones are settled."""
        held = self._held.get(event.group)
        if held and isinstance(event, GenerationEvent) and event.closes_episode:
            self._release(event.group, held, event.timestamp_ms)

    def observed(self, observation: Observation) -> None:
        """Process an observation that the tracker has processed."""
        if not isinstance(observation, GroupRecord | EpochRecord) or not observation.live:
            return
        group = observation.group
        self._join(observation)
        held = self._held.get(group)
        if held is None:
            held = _Held(observation.partition)
        held.add(observation.offset, observation.timestamp_ms)
        if self._unsettled(group):
            self._held[group] = held
        else:
            self._release(group, held, FOREVER_MS)

    def drop(self, keep: Collection[int]) -> None:
        """Drop all partitions except these."""
        self._held = {group: held for group, held in self._held.items() if held.partition in keep}
        self._spans = {partition: spans for partition, spans in self._spans.items() if partition in keep}
        self._batches = {group: batch for group, batch in self._batches.items() if batch[0] in keep}

    def covered(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Return partition -> the first offset to read again; all records before ``positions`` were observed."""
        for group, held in list(self._held.items()):
            if not self._unsettled(group):
                self._release(group, held, FOREVER_MS)
        first = dict(positions)
        for held in self._held.values():
            if held.partition in first:
                first[held.partition] = min(first[held.partition], held.first)
        first = {partition: self._outside(partition, offset) for partition, offset in first.items()}
        self._batches = {group: batch for group, batch in self._batches.items() if batch[1] >= first.get(batch[0], 0)}
        return first

    def _join(self, record: GroupRecord | EpochRecord) -> None:
        """Join a record to the group's last record if both have the same timestamp, and so belong to one batch."""
        partition, begun, at_ms = self._batches.get(record.group, (-1, -1, -1))
        if (partition, at_ms) == (record.partition, record.timestamp_ms):
            self._add_span(partition, (begun, record.offset))
        else:
            self._batches[record.group] = (record.partition, record.offset, record.timestamp_ms)

    def _release(self, group: str, held: _Held, until_ms: int) -> None:
        span = held.release(until_ms)
        if not held:
            self._held.pop(group, None)
        if span and span[0] < span[1]:
            self._add_span(held.partition, span)

    def _add_span(self, partition: int, span: tuple[int, int]) -> None:
        spans = self._spans.setdefault(partition, [])
        if spans and spans[-1][0] == span[0]:
            span = (span[0], max(span[1], spans.pop()[1]))
        spans.append(span)
        if len(spans) > SPANS_MAX:
            spans.sort()
            spans[:2] = [(spans[0][0], max(spans[0][1], spans[1][1]))]

    def _outside(self, partition: int, offset: int) -> int:
        """Return the offset, or the start of the span that it lies in."""
        spans = self._spans.get(partition, [])
        while (start := min((first for first, last in spans if first < offset <= last), default=offset)) < offset:
            offset = start
        # Spans before it are no longer needed: the next offset will not be lower.
        self._spans[partition] = [span for span in spans if span[1] >= offset]
        return offset
