"""The published events, each once, whatever copies, revisions and parts of it were read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from rebalance_agent.audit.audit_report import AuditReport, Difference, Differences
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.entries import ExpectedFact
from rebalance_agent.audit.published_event import GroupFact, PublishedEvent, inconsistencies, told_of
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent, GroupGoneEvent, event_id
from rebalance_agent.model.group import GroupType

__all__ = ["KINDS", "PublishedEvents"]

KINDS = frozenset((GenerationEvent.KIND, AbortedEvent.KIND, GroupGoneEvent.KIND))
"""The kinds of events that follow from records."""

DISPUTES_MAX = 10
"""Contradictions kept per event; further ones are only counted."""


class PublishedEvents:
    """Takes events, then finds the event of an expected fact.

    ``first_ms``, ``last_ms``: times (epoch ms) of the earliest and latest event from this cluster's records, of any
    group.
    """

    def __init__(
        self, report: AuditReport, cluster_id: str, shows: Callable[[str], bool], kinds: Collection[str], *, once: bool
    ) -> None:
        """Errors in a single event are added to ``report``; for the other parameters see `Ledger`."""
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.kinds = kinds
        self._report = report
        self._cluster_id = cluster_id
        self._shows = shows
        self._once = once
        self._told: dict[str, PublishedEvent] = {}
        self._disputed: dict[str, Differences] = {}

    def take(self, event: Event, place: RecordPosition) -> None:
        """Add an event, if it is of this cluster and of one of the ``kinds``."""
        if not isinstance(event, GroupFact) or event.KIND not in self.kinds or event.cluster_id != self._cluster_id:
            return
        if event.source is not Source.RECORDS:
            if self._shows(event.group):
                told = told_of(event, place)
                self._differ(told, f"{told} is told of polls, which show no such thing", place)
            return
        at_ms = event.timestamp_ms
        self.first_ms = at_ms if self.first_ms is None else min(self.first_ms, at_ms)
        self.last_ms = at_ms if self.last_ms is None else max(self.last_ms, at_ms)
        if not self._shows(event.group):
            return
        told = told_of(event, place)
        if isinstance(event, GenerationEvent):
            for what in inconsistencies(event):
                self._differ(told, what, place)
        self._keep(_key(event), told)

    def of(self, entry: ExpectedFact) -> PublishedEvent | None:
        """Return the event of an expected fact; None if there is none."""
        wanted = entry.event_id(self._cluster_id)
        told, other = self._told.get(wanted), self._anonymous(entry)
        if other is not None:
            told = other if told is None else _better(told, other)
        if told is not None and entry.certain and told.first_id not in ("", wanted):
            return None
        return told

    def as_epoch(self, entry: ExpectedFact) -> bool:
        """Whether a classic record's generation was published as an epoch, which the record may only repeat."""
        return entry.group_type is GroupType.CLASSIC and (entry.group, entry.number) in self._epochs

    def unmatched(self) -> Iterator[PublishedEvent]:
        """Yield the events without a record."""
        return (told for told in self._told.values() if not told.matched)

    def disputed(self) -> Iterator[Differences]:
        """Yield the contradictions between copies of an event, unless a higher revision was read."""
        return iter(self._disputed.values())

    @cached_property
    def _by_time(self) -> Mapping[tuple[str, int, int], PublishedEvent]:
        generations = (told for told in self._told.values() if told.kind == GenerationEvent.KIND)
        rising = sorted(generations, key=lambda each: each.revision)
        return {(told.group, told.number, told.at_ms): told for told in rising}

    @cached_property
    def _epochs(self) -> frozenset[tuple[str, int]]:
        generations = (told for told in self._told.values() if told.kind == GenerationEvent.KIND)
        return frozenset((each.group, each.number) for each in generations if each.group_type is not GroupType.CLASSIC)

    def _anonymous(self, entry: ExpectedFact) -> PublishedEvent | None:
        """Return the event of a generation that has another id than the fact: returned members are part of the id."""
        if entry.kind != GenerationEvent.KIND:
            return None
        if not entry.certain:
            # Whether members returned is unknown.
            return self._by_time.get((entry.group, entry.number, entry.at_ms))
        # The ids of further parts do not contain the returned members.
        spread = self._told.get(replace(entry, returned=()).event_id(self._cluster_id)) if entry.returned else None
        return spread if spread and spread.parts > 1 else None

    def _keep(self, key: str, told: PublishedEvent) -> None:
        known = self._told.get(key)
        if known and told.fact != known.fact:
            self._differ(told, f"{told} has the id of {known} of {known.group!r}", known.place, told.place)
            return
        if known and self._once and told.again(known):
            self._differ(told, f"{told} is there twice", known.place, told.place)
        if known is None or (told.revision, told.whole) > (known.revision, known.whole):
            self._told[key] = told
            self._disputed.pop(key, None)
        elif (told.revision, told.parts) == (known.revision, known.parts) and not told.parts_seen <= known.parts_seen:
            known.parts_seen |= told.parts_seen
            known.totals = known.totals.plus(told.totals)
            known.first_id = known.first_id or told.first_id
        elif told.parts == 1:
            self._report.copies += 1
            if told.revision == known.revision:
                for what in known.contradicted(told):
                    places = known.place, told.place
                    difference = Difference(told.group, told.number, f"it is told twice, with other {what}", places)
                    self._disputed.setdefault(key, Differences(DISPUTES_MAX)).add(difference)

    def _differ(self, told: PublishedEvent, what: str, *places: RecordPosition) -> None:
        self._report.differ(Difference(told.group, told.number, what, places))


def _better(told: PublishedEvent, other: PublishedEvent) -> PublishedEvent:
    """Return the higher revision of one fact; the other one needs no record of its own."""
    if (told.revision, told.parts) != (other.revision, other.parts):
        told.matched = other.matched = True
    return max(told, other, key=lambda each: each.revision)


def _key(event: GroupFact) -> str:
    """Return the event's id; for an event in parts, the same id for all of them."""
    if not isinstance(event, GenerationEvent) or event.parts == 1:
        return event.event_id
    known = event.KIND, event.cluster_id, event.group, event.group_type, event.generation, event.timestamp_ms
    return event_id(*known)
