"""Compares the generations that gateways and leaders reported with records, for clusters that hide their offsets topic.

An observer that may not read ``__consumer_offsets`` publishes events from these reports (``source="frames"``). Their
times are by the clock of the gateway or leader, so events and records are matched by group, generation and nearest
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from rebalance_agent.audit.audited_group import AuditedMember, RecordPosition, Totals, totals
from rebalance_agent.audit.expected.entries import ExpectedFact
from rebalance_agent.audit.published_event import PublishedEvent, reduce_event
from rebalance_agent.groupprotocol.classic_group import CONSUMER_PROTOCOL_TYPE, member_assignment
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.led_generation import LedGenerationEvent

__all__ = ["CLOCKS_MS", "LedGenerations"]

CLOCKS_MS = 60_000
"""Largest difference (ms) between the clocks of a coordinator and of a gateway or leader. Two generations with the same
number and less than this apart are those of a group that was deleted and created again: the nearer one counts."""


@dataclass(slots=True)
class _Report:
    """What a leader assigned, by the leader's own report."""

    at_ms: int
    assigned: tuple[int, ...]
    position: RecordPosition


_Dated = TypeVar("_Dated", _Report, PublishedEvent)


class LedGenerations:
    """The reports of leaders (``led``), and the observers' events about them (``published``), by group and number.

    ``only``: whether there are such events, and no events from records: the observer could not read the topic.
    """

    def __init__(self, cluster_id: str, shows: Callable[[str], bool]) -> None:
        """Start without reports; see `Ledger` for the parameters."""
        self.first_ms: int | None = None
        self._cluster_id, self._shows = cluster_id, shows
        self._led: dict[tuple[str, int], list[_Report]] = {}
        self._published: dict[tuple[str, int], dict[int, PublishedEvent]] = {}
        self._by_records = False

    @property
    def only(self) -> bool:
        """Whether the events are those of an observer without permission to read the offsets topic."""
        return bool(self._led or self._published) and not self._by_records

    def take(self, event: Event, position: RecordPosition) -> None:
        """Add an event of this cluster."""
        if event.cluster_id != self._cluster_id:
            return
        if isinstance(event, LedGenerationEvent) and self._shows(event.group):
            report = _Report(event.timestamp_ms, _assigned(event), position)
            self._led.setdefault((event.group, event.generation), []).append(report)
        elif isinstance(event, GenerationEvent) and event.source is Source.FRAMES:
            self.first_ms = min(event.timestamp_ms, self.first_ms or event.timestamp_ms)
            if self._shows(event.group):
                self._add(event, position)
        elif isinstance(event, GenerationEvent) and event.source is Source.RECORDS:
            self._by_records = True

    def is_led(self, entry: ExpectedFact) -> bool:
        """Return whether the leader of this generation reported it."""
        return self._report(entry) is not None

    def published(self, entry: ExpectedFact) -> PublishedEvent | None:
        """Return the event that an observer built from the leader's report; None if there is none."""
        return _nearest(entry, self._published.get((entry.group, entry.number), {}).values())

    def differences(self, entry: ExpectedFact) -> Iterator[str]:
        """Yield the differences between a generation's record, its leader's report, and the event."""
        report, event = self._report(entry), self.published(entry)
        if entry.now is None or (report is None and event is None):
            return
        recorded = _without_clients(totals(entry.now.members, {}))
        if report is not None and report.assigned != recorded:
            yield f"its leader reported other assignments ({report.position})"
        if event is not None and _without_clients(event.totals) != recorded:
            yield "its assignments differ from those in the event"
        if event is not None and event.leader not in (None, entry.now.leader):
            yield f"its leader is {entry.now.leader} in the record, {event.leader} in the event"

    def unmatched(self) -> Iterator[PublishedEvent]:
        """Yield the events without a record."""
        return (event for events in self._published.values() for event in events.values() if not event.matched)

    def _add(self, event: GenerationEvent, position: RecordPosition) -> None:
        published = reduce_event(event, position)
        events = self._published.setdefault((event.group, event.generation), {})
        other = events.get(event.timestamp_ms)
        if other is not None and published.is_further_part_of(other):
            other.parts_seen |= published.parts_seen
            other.totals = other.totals.plus(published.totals)
        elif other is None or published.revision > other.revision:
            events[event.timestamp_ms] = published

    def _report(self, entry: ExpectedFact) -> _Report | None:
        return _nearest(entry, self._led.get((entry.group, entry.number), ()))


def _nearest(entry: ExpectedFact, candidates: Iterable[_Dated]) -> _Dated | None:
    """Return the candidate nearest in time to a generation of a classic group; None if all are too far away."""
    if entry.kind != GenerationEvent.KIND or entry.group_type is not GroupType.CLASSIC:
        return None
    distance = {abs(each.at_ms - entry.at_ms): each for each in candidates}
    nearest = min(distance, default=CLOCKS_MS + 1)
    return distance[nearest] if nearest <= CLOCKS_MS else None


def _without_clients(sums: Totals) -> tuple[int, ...]:
    """Return the sums without clients and subscriptions, which frames do not contain for all members."""
    return sums.members, sums.partitions, sums.named


def _assigned(event: LedGenerationEvent) -> tuple[int, ...]:
    members = []
    for member in event.members:
        assignment = member_assignment(CONSUMER_PROTOCOL_TYPE, member.assignment)
        held = assignment.partitions if assignment else {}
        members.append(AuditedMember(member.member_id, member.instance_id, "", "", held))
    return _without_clients(totals(members, {}))
