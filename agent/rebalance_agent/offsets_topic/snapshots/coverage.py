"""Up to where the offsets topic need not be read again, since all that its records lead to has been said. Pure.

An observer that starts from the last record of each key before such a position, and reads on from there, concludes what
comes after it exactly as an observer does that never stopped: at that position no group is in the middle of anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping

from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.tracking.completed_generation import FOREVER_MS
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord, Observation

__all__ = ["HELD_MAX", "SPANS_MAX", "Coverage"]

HELD_MAX = 1_000
"""Records of one group that are told apart while it is unsettled; what comes later is let go together with the last."""

SPANS_MAX = 1_000
"""Rebalances of one partition that are told apart while an older one holds it back; then the oldest become one."""


class _Held:
    """A group's records from the first one on that has not led to all that will be said: (offset, timestamp)."""

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
        """Records up to ``until_ms`` are told: the first and the last of them."""
        gone = []
        while self._records and self._records[0][1] <= until_ms:
            gone.append(self._records.popleft()[0])
        return (gone[0], gone[-1] if self._records else self.last) if gone else None


class Coverage:
    """Follows what goes into a tracker and what comes out. Called with each event, then with what led to it.

    Nobody may begin in the middle of a rebalance, told or not: so besides the records that still matter (``held``) it
    knows from where to where the told ones went (``spans``), as long as an older record of another group holds back.
    Nor between records that the coordinator wrote as one: they have one timestamp.
    """

    def __init__(self, unsettled: Callable[[str], bool]) -> None:
        """``unsettled``: whether the tracker has still to say something about records of a group."""
        self._unsettled = unsettled
        self._held: dict[str, _Held] = {}
        self._spans: dict[int, list[tuple[int, int]]] = {}
        self._batches: dict[str, tuple[int, int, int]] = {}

    def event(self, event: Event) -> None:
        """The tracker said something: the rebalance that this closes, and all before it, are told."""
        held = self._held.get(event.group)
        if held and isinstance(event, GenerationEvent) and event.closes_episode:
            self._release(event.group, held, event.timestamp_ms)

    def observed(self, observation: Observation) -> None:
        """The tracker took an observation."""
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
        """Only these partitions matter from now on."""
        self._held = {group: held for group, held in self._held.items() if held.partition in keep}
        self._spans = {partition: spans for partition, spans in self._spans.items() if partition in keep}
        self._batches = {group: batch for group, batch in self._batches.items() if batch[0] in keep}

    def covered(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Partition -> the first offset that must be read again, where all before ``positions`` has been observed."""
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
        """A record of the same moment as the group's last one belongs to that."""
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
        """The offset, or the beginning of what it is in the middle of."""
        spans = self._spans.get(partition, [])
        while (start := min((first for first, last in spans if first < offset <= last), default=offset)) < offset:
            offset = start
        # What lies before it altogether is of no interest any more: the next one will not be earlier.
        self._spans[partition] = [span for span in spans if span[1] >= offset]
        return offset
