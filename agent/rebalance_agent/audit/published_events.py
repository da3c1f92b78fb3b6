"""Collects the published events: merges copies, revisions and parts of one event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from rebalance_agent.audit.audit_report import AuditReport, Difference, Differences
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.expected.entries import ExpectedFact
from rebalance_agent.audit.published_event import AuditedEvent, PublishedEvent, inconsistencies, reduce_event
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent, GroupGoneEvent, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id

__all__ = ["KINDS", "PublishedEvents"]

KINDS = frozenset((GenerationEvent.KIND, AbortedEvent.KIND, GroupGoneEvent.KIND))
"""The kinds of events that follow from records."""

DISPUTES_MAX = 10
"""Maximum number of contradictions kept per event; further contradictions are only counted."""


class PublishedEvents:
    """Collects events, then finds the event of an expected fact.

    ``first_ms``, ``last_ms``: times (epoch ms) of the earliest and latest event from this cluster's records, of any
    group. ``reporting``: the groups with events of members.
    """

    def __init__(
        self, report: AuditReport, cluster_id: str, shows: Callable[[str], bool], kinds: Collection[str], *, once: bool
    ) -> None:
        """Errors in a single event are added to ``report``; see `Ledger` for the other parameters."""
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.kinds = kinds
        self.reporting: set[str] = set()
        self._report = report
        self._cluster_id = cluster_id
        self._shows = shows
        self._once = once
        self._published: dict[str, PublishedEvent] = {}
        self._disputed: dict[str, Differences] = {}

    def take(self, event: Event, position: RecordPosition) -> None:
        """Add an event, if it is from this cluster and has one of the ``kinds``."""
        if isinstance(event, MemberEvent):
            self.reporting.add(event.group)
        if not isinstance(event, AuditedEvent) or event.KIND not in self.kinds or event.cluster_id != self._cluster_id:
            return
        if event.source in (Source.FRAMES, Source.DESCRIBE):
            return  # the time and id are from a gateway or a poll, and some generations are missing
        if event.source is Source.ADMIN:
            if self._shows(event.group):
                published = reduce_event(event, position)
                self._differ(published, f"{published} comes from polls, which cannot detect it", position)
            return
        at_ms = event.timestamp_ms
        self.first_ms = at_ms if self.first_ms is None else min(self.first_ms, at_ms)
        self.last_ms = at_ms if self.last_ms is None else max(self.last_ms, at_ms)
        if not self._shows(event.group):
            return
        published = reduce_event(event, position)
        if isinstance(event, GenerationEvent):
            for what in inconsistencies(event):
                self._differ(published, what, position)
        self._keep(_key(event), published)

    def find(self, entry: ExpectedFact) -> PublishedEvent | None:
        """Return the event of an expected fact; None if there is no such event."""
        expected_id = entry.event_id(self._cluster_id)
        published, other = self._published.get(expected_id), self._anonymous(entry)
        if other is not None:
            published = other if published is None else _better(published, other)
        if published is not None and entry.certain and published.first_id not in ("", expected_id):
            return None
        return published

    def was_published_as_epoch(self, entry: ExpectedFact) -> bool:
        """Return whether the generation of a classic record was published as an epoch, which the record may repeat."""
        return entry.group_type is GroupType.CLASSIC and (entry.group, entry.number) in self._epochs

    def unmatched(self) -> Iterator[PublishedEvent]:
        """Yield the events without a record."""
        return (published for published in self._published.values() if not published.matched)

    def disputed(self) -> Iterator[Differences]:
        """Yield the contradictions between copies of an event, unless a higher revision was read."""
        return iter(self._disputed.values())

    @cached_property
    def _by_time(self) -> Mapping[tuple[str, int, int], PublishedEvent]:
        generations = (published for published in self._published.values() if published.kind == GenerationEvent.KIND)
        by_revision = sorted(generations, key=lambda event: event.revision)
        return {(published.group, published.number, published.at_ms): published for published in by_revision}

    @cached_property
    def _epochs(self) -> frozenset[tuple[str, int]]:
        generations = (published for published in self._published.values() if published.kind == GenerationEvent.KIND)
        return frozenset(
            (event.group, event.number) for event in generations if event.group_type is not GroupType.CLASSIC
        )

    def _anonymous(self, entry: ExpectedFact) -> PublishedEvent | None:
        """Return a generation's event whose id differs from the fact's: returned members are part of the id."""
        if entry.kind != GenerationEvent.KIND:
            return None
        if not entry.certain:
            # Whether members returned is unknown.
            return self._by_time.get((entry.group, entry.number, entry.at_ms))
        # The ids of further parts do not contain the returned members.
        spread = self._published.get(replace(entry, returned=()).event_id(self._cluster_id)) if entry.returned else None
        return spread if spread and spread.parts > 1 else None

    def _keep(self, key: str, published: PublishedEvent) -> None:
        other = self._published.get(key)
        if other and published.fact != other.fact:
            self._differ(
                published, f"{published} has the id of {other} of {other.group!r}", other.position, published.position
            )
            return
        if other and self._once and published.is_copy_of(other):
            self._differ(published, f"{published} was published twice", other.position, published.position)
        if other is None or (published.revision, published.whole) > (other.revision, other.whole):
            self._published[key] = published
            self._disputed.pop(key, None)
        elif published.is_further_part_of(other):
            other.parts_seen |= published.parts_seen
            other.totals = other.totals.plus(published.totals)
            other.first_id = other.first_id or published.first_id
        elif published.parts == 1:
            self._report.copies += 1
            if published.revision == other.revision:
                for what in other.contradictions(published):
                    positions = other.position, published.position
                    difference = Difference(
                        published.group, published.number, f"it was published twice, with different {what}", positions
                    )
                    self._disputed.setdefault(key, Differences(DISPUTES_MAX)).differ(difference)

    def _differ(self, published: PublishedEvent, what: str, *positions: RecordPosition) -> None:
        self._report.differ(Difference(published.group, published.number, what, positions))


def _better(published: PublishedEvent, other: PublishedEvent) -> PublishedEvent:
    """Return the higher revision of one fact; the other revision needs no record of its own."""
    if (published.revision, published.parts) != (other.revision, other.parts):
        published.matched = other.matched = True
    return max(published, other, key=lambda event: event.revision)


def _key(event: AuditedEvent) -> str:
    """Return the event's id; for an event in parts, the same id for all parts."""
    if not isinstance(event, GenerationEvent) or event.parts == 1:
        return event.event_id
    other = event.KIND, event.cluster_id, event.group, event.group_type, event.generation, event.timestamp_ms
    return event_id(*other)
