"""The reports of a group's members, kept for as long as an episode may need them.

Reports may be late, duplicated, out of order or invalid, and the times in each report are by the clock of the process
that sent it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType, Member
from rebalance_agent.model.partition_ranges import among
from rebalance_agent.model.partitions import TopicPartitions, pairs
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.kept_reports import KeptReports, ReportBudget, ReportedMember
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, Departure, TimeBounds, end_bounds, stop_bounds
from rebalance_agent.tracking.evidence.seat_occupants import SeatOccupants

__all__ = [
    "CLOCK_SKEW_MAX_MS",
    "UNDATED_SKEW_MAX_MS",
    "Interruption",
    "MemberReports",
    "ReportSpan",
]

CLOCK_SKEW_MAX_MS = 5_000
"""How far (ms) a report with the right generation may lie outside the generation's time; reports beyond are ignored."""

UNDATED_SKEW_MAX_MS = 250
"""The largest skew (ms) accepted for reports without a generation (librdkafka), which are matched to a rebalance only
by their time."""

_NOTHING: Mapping[str, Departure] = MappingProxyType({})

_STOPS = frozenset({Callback.REVOKED, Callback.LOST, Callback.LEFT})


@dataclass(frozen=True, slots=True)
class ReportSpan:
    """A range of generations and times in which to look for revocations, both ends included.

    ``in_time_ms``: the deadline by which a member must revoke to remain a member. ``shared``: the group is a share
    group. Then revocations show neither a stop nor a departure: the coordinator takes partitions from members without a
    request, other members may have the same partitions, and the member goes on with the records that it has acquired.
    """

    first_generation: int
    last_generation: int
    from_ms: int
    until_ms: int
    in_time_ms: int = FOREVER_MS
    shared: bool = False

    @classmethod
    def between(cls, before: Generation, after: Generation) -> ReportSpan:
        """Return the span between two completed generations. Revocations in the last one are of the next rebalance."""
        last = max(before.number, after.number - 1)
        joins = after.group_type is GroupType.CLASSIC and after.joined_ms is not None
        in_time_ms = after.joined_ms if joins and after.joined_ms is not None else after.timestamp_ms
        shared = after.group_type is GroupType.SHARE
        return cls(before.number, last, before.timestamp_ms, after.timestamp_ms, in_time_ms, shared)

    def has(self, event: MemberEvent, at_ms: int) -> bool:
        """Whether the report belongs to this span; ``at_ms`` is the report's relevant time."""
        dated = event.generation >= 0
        if dated and not self.first_generation <= event.generation <= self.last_generation:
            return False
        return self.covers(at_ms, CLOCK_SKEW_MAX_MS if dated else UNDATED_SKEW_MAX_MS)

    def covers(self, at_ms: int, skew_ms: int = CLOCK_SKEW_MAX_MS) -> bool:
        """Whether a time by another process's clock, which may differ by ``skew_ms``, may lie in the span."""
        return self.from_ms - skew_ms <= at_ms <= self.until_ms + skew_ms


class Interruption(NamedTuple):
    """A period in which a member did not consume a partition that it owned: when it stopped, and when it resumed."""

    stopped: TimeBounds
    resumed: TimeBounds


class MemberReports:
    """The reports of one group's members; ``seats``: what gateways reported about the members' seats.

    A report may claim any partitions. Methods look only for the partitions that their caller names, or
    that records assign to the member, so that other claims cause no work.
    """

    def __init__(self, budget: ReportBudget | None = None) -> None:
        """Start without reports. ``budget`` is shared by all groups of a tracker."""
        self._kept = KeptReports(budget or ReportBudget())
        self.seats = SeatOccupants()

    def __bool__(self) -> bool:
        """Whether any member has reported."""
        return bool(self._kept)

    def add(self, event: MemberEvent, at_ms: int, *, stranger: bool = False) -> bool:
        """Add a report received at ``at_ms``; return False if it is a duplicate or invalid, or does not fit.

        A ``stranger`` is in no record of the group. A report with a duration replaces an earlier revision without one.
        """
        if not 0 <= event.asked_ms <= event.started_ms <= event.timestamp_ms <= at_ms + CLOCK_SKEW_MAX_MS:
            return False
        for other in self._kept.of(event.member_id):
            if event.event_id == other.event_id:
                return self._kept.complete(other, event)
        return self._kept.add(event, stranger=stranger)

    def knows(self, member_id: str) -> bool:
        """Whether this member has reported: only then is a missing report evidence."""
        return bool(self._kept.of(member_id))

    def measures(self, member_id: str) -> bool:
        """Whether this member's client has reported its callbacks itself."""
        return any(event.evidence is None for event in self._kept.of(member_id))

    def reported_by(self, member_id: str) -> ReportedMember:
        """Return the data on the member from its last reports, and the occupant of its seat."""
        return self._kept.reported_by(member_id, self.seats.of(member_id))

    def own(self, member_id: str, *callbacks: Callback) -> Iterator[MemberEvent]:
        """Yield the reports of these callbacks that the member's client measured itself, in the order of arrival."""
        for event in self._kept.of(member_id):
            if event.callback in callbacks and event.evidence is None:
                yield event

    def given_up(self, member_id: str, wanted: TopicPartitions) -> dict[Partition, int]:
        """Map each ``wanted`` partition that the member gave up, and did not get again, to a time (epoch ms).

        This is the time, by the member's clock, at which its revoked or lost callback was entered, if the client
        measured it.
        """
        given_up: dict[Partition, int] = {}
        reported = self.own(member_id, Callback.ASSIGNED, Callback.REVOKED, Callback.LOST)
        for event in sorted(reported, key=lambda event: event.started_ms):
            for partition in among(event.partitions, wanted):
                if event.callback is Callback.ASSIGNED:
                    given_up.pop(partition, None)
                else:
                    given_up[partition] = event.started_ms
        return given_up

    def keep(self, member_ids: Iterable[str], since_ms: int) -> None:
        """Drop members that are neither among ``member_ids`` nor have reported since ``since_ms``, and old reports."""
        alive = set(member_ids)
        self.seats.keep(alive, since_ms)
        self._kept.keep(alive, since_ms)

    def clear(self) -> None:
        """Drop all reports, since the group is gone."""
        self.seats.clear()
        self._kept.clear()

    def revocations(self, member_id: str, span: ReportSpan) -> list[MemberEvent]:
        """Return the member's revoked callbacks in the span, ordered by the time when they were entered."""
        return sorted(
            self._within(member_id, span, (Callback.REVOKED,)), key=lambda event: (event.started_ms, event.event_id)
        )

    def stops(
        self, member: Member, span: ReportSpan, wanted: TopicPartitions | None = None
    ) -> dict[Partition, TimeBounds]:
        """Map each ``wanted`` partition (default: the assigned ones) to the time when the member stopped consuming it.

        This is the time when the member's revoked or lost callback was entered, when it left, or when its process had
        closed its connections. If the member got the partition again in between, the last stop counts. The time is
        exact if the evidence is ``members``; a gateway reads only the frames before and after.
        """
        return self.stops_and_interruptions(member, span, wanted)[0]

    def stops_and_interruptions(
        self, member: Member, span: ReportSpan, wanted: TopicPartitions | None = None
    ) -> tuple[dict[Partition, TimeBounds], dict[Partition, list[Interruption]]]:
        """Return `stops`, and the interruptions of partitions that it stopped and resumed in the same generation.

        Both are empty in share groups.
        """
        if span.shared:
            return {}, {}
        wanted = member.assigned if wanted is None else wanted
        stopped: dict[Partition, TimeBounds] = {}
        interrupted: dict[Partition, list[Interruption]] = {}
        events = self._within(member.member_id, span, _STOPS | {Callback.ASSIGNED})
        for event in sorted(events, key=lambda event: event.started_ms):
            if event.callback is Callback.ASSIGNED:
                for partition in among(event.partitions, wanted) & stopped.keys() if _is_again(event, span) else ():
                    again = Interruption(stopped.pop(partition), end_bounds(event))
                    interrupted.setdefault(partition, []).append(again)
                continue
            stop, leaving = stop_bounds(event), event.callback is Callback.LEFT
            for partition in pairs(member.assigned) if leaving else among(event.partitions, wanted):
                stopped[partition] = min(stopped.get(partition, stop), stop, key=lambda bounds: bounds.latest_ms)
        if (vacated := self._vacated(member, span)) is not None:
            for partition in pairs(member.assigned):
                stopped[partition] = min(stopped.get(partition, vacated), vacated, key=lambda bounds: bounds.latest_ms)
        return stopped, interrupted

    def _vacated(self, member: Member, span: ReportSpan) -> TimeBounds | None:
        """Return when a member whose seat was handed over stopped, if its gateway detected that."""
        at_ms = self.seats.stopped_ms(member.member_id)
        return None if at_ms is None or not span.covers(at_ms) else TimeBounds(0, at_ms, Evidence.GATEWAY)

    def resumes(
        self, member_id: str, number: int, completed_ms: int, wanted: TopicPartitions
    ) -> dict[Partition, TimeBounds]:
        """Map ``wanted`` partitions to the time when the member's assigned callback for a generation returned.

        ``number``: the generation's number; ``completed_ms``: when the generation completed.
        """
        resumed: dict[Partition, TimeBounds] = {}
        stops: list[tuple[int, set[Partition]]] | None = None
        for event in self._kept.of(member_id):
            dated = event.generation == number
            skew_ms = CLOCK_SKEW_MAX_MS if dated else UNDATED_SKEW_MAX_MS
            if (
                event.callback is Callback.ASSIGNED
                and (dated or event.generation < 0)
                and event.timestamp_ms >= completed_ms - skew_ms
            ):
                claimed = among(event.partitions, wanted)
                if not dated:
                    stops = self._stops_since(member_id, completed_ms, wanted) if stops is None else stops
                    # What was stopped by then is in the report of a later generation.
                    claimed.difference_update(*(gone for at_ms, gone in stops if at_ms <= event.timestamp_ms))
                for partition in claimed:
                    end = end_bounds(event)
                    resumed[partition] = min(resumed.get(partition, end), end, key=lambda bounds: bounds.latest_ms)
        return resumed

    def _stops_since(self, member_id: str, since_ms: int, wanted: TopicPartitions) -> list[tuple[int, set[Partition]]]:
        """Return the times after ``since_ms`` when the member stopped partitions, and the ``wanted`` ones of these."""
        return [
            (event.started_ms, among(event.partitions, wanted))
            for event in self._kept.of(member_id)
            if event.callback in _STOPS and since_ms < event.started_ms
        ]

    def departure(self, member: Member, span: ReportSpan, recorded: Mapping[str, Departure] = _NOTHING) -> Departure:
        """Return how a member of the span's first generation departed.

        It left if it reported its departure, or if it revoked all its partitions in time and did not rejoin. It was
        expelled if its revoked callback returned only after the join phase, even if it reported lost partitions then.
        Otherwise ``recorded`` (what records and commits show, by member id) counts. A member that had reported before,
        and then neither reported nor committed, failed.
        """
        events = list(self._within(member.member_id, span, _STOPS))
        callbacks = {event.callback for event in events}
        if Callback.LEFT in callbacks:
            return Departure.LEFT
        revoking = [event for event in events if event.callback is Callback.REVOKED]
        in_time = [event for event in revoking if event.timestamp_ms <= span.in_time_ms + UNDATED_SKEW_MAX_MS]
        stopped = self.stops(member, span)
        claimed = (among(event.partitions, member.assigned) for event in in_time)
        gave_up = {partition for partitions in claimed for partition in partitions if partition in stopped}
        lost = Callback.LOST in callbacks
        if not lost and member.assigned and pairs(member.assigned) <= gave_up:
            return Departure.LEFT
        if len(in_time) < len(revoking):
            return Departure.EXPELLED
        if lost:
            return Departure.FAILED
        shown = recorded.get(member.member_id, Departure.UNKNOWN)
        return Departure.FAILED if shown is Departure.SILENT and self.knows(member.member_id) else shown

    def _within(self, member_id: str, span: ReportSpan, callbacks: Iterable[Callback]) -> Iterator[MemberEvent]:
        kinds = frozenset(callbacks) - ({Callback.REVOKED} if span.shared else set())
        for event in self._kept.of(member_id):
            if event.callback in kinds and span.has(event, event.started_ms):
                yield event


def _is_again(assigned: MemberEvent, span: ReportSpan) -> bool:
    """Whether the span's first generation was assigned once more.

    If a member rejoins for its own reasons, the coordinator answers with the current generation, and no record shows
    this. A report without a generation that was assigned at the end of the join phase or later belongs to the next
    generation.
    """
    if assigned.generation < 0:
        return assigned.timestamp_ms < span.in_time_ms - UNDATED_SKEW_MAX_MS
    return assigned.generation == span.first_generation
