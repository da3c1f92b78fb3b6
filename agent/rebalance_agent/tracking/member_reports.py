"""What a group's members said of themselves, kept for as long as an episode may need it.

Reports may be late, doubled, out of order or nonsense, and each is by its process's own clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rebalance_agent.model.events import Callback, MemberEvent, Workload
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Departure, Generation

__all__ = [
    "CLOCK_SKEW_MAX_MS",
    "EVENTS_PER_MEMBER_MAX",
    "MEMBERS_MAX",
    "REPORTS_MAX",
    "UNDATED_SKEW_MAX_MS",
    "Allowance",
    "MemberReports",
    "ReportSpan",
    "ReportedMember",
]

EVENTS_PER_MEMBER_MAX = 32
"""Reports kept of one member: three callbacks a generation, over the few generations that can still be revised."""

MEMBERS_MAX = 4_096
"""Members remembered in one group: twice the largest groups, so that departed ones are still known."""

REPORTS_MAX = 400_000
"""Reports kept of all groups together, some 400 MB: ten each of 2,000 groups of 20 members. Whoever may report may also
invent groups and members; beyond this, reports wait until those of members that are gone were let go."""

CLOCK_SKEW_MAX_MS = 5_000
"""A report that names the right generation but lies farther outside its time is not believed."""

UNDATED_SKEW_MAX_MS = 250
"""The same for clients that name no generation (librdkafka): only time tells which rebalance they mean."""

_NOTHING: Mapping[str, Departure] = MappingProxyType({})

_STOPS = frozenset({Callback.REVOKED, Callback.LOST, Callback.LEFT})


@dataclass(frozen=True, slots=True)
class ReportSpan:
    """Where to look for what stopped: generations and times, both ends included."""

    first_generation: int
    last_generation: int
    from_ms: int
    until_ms: int

    @classmethod
    def between(cls, before: Generation, after: Generation) -> ReportSpan:
        """From one completed generation to another. What a member stops in the last one is of the next rebalance."""
        last = max(before.number, after.number - 1)
        return cls(before.number, last, before.timestamp_ms, after.timestamp_ms)

    def has(self, event: MemberEvent, at_ms: int) -> bool:
        """Whether the report is of this span; ``at_ms`` is the moment in it that counts."""
        dated = event.generation >= 0
        if dated and not self.first_generation <= event.generation <= self.last_generation:
            return False
        skew_ms = CLOCK_SKEW_MAX_MS if dated else UNDATED_SKEW_MAX_MS
        return self.from_ms - skew_ms <= at_ms <= self.until_ms + skew_ms


@dataclass(frozen=True, slots=True)
class ReportedMember:
    """What a member's reports say of itself: where it runs, and its process's random id. None: it has not said."""

    where: Workload | None = None
    process: str | None = None


class Allowance:
    """How many more reports may be kept, by all groups of a tracker together."""

    def __init__(self, reports: int = REPORTS_MAX) -> None:
        """``reports``: how many in all."""
        self.left = reports


class MemberReports:
    """The reports of one group's members."""

    def __init__(self, allowance: Allowance | None = None) -> None:
        """Begin with no reports; ``allowance`` is shared by the groups."""
        self._events: dict[str, deque[MemberEvent]] = {}
        self._allowance = allowance or Allowance()

    def __bool__(self) -> bool:
        """Whether any member has reported."""
        return bool(self._events)

    def add(self, event: MemberEvent, at_ms: int) -> bool:
        """Remember a report received at ``at_ms``; False if it was known, cannot be true, or finds no room."""
        if not 0 <= event.asked_ms <= event.started_ms <= event.timestamp_ms <= at_ms + CLOCK_SKEW_MAX_MS:
            return False
        known = self._events.get(event.member_id, deque(maxlen=EVENTS_PER_MEMBER_MAX))
        if any(event.event_id == other.event_id for other in known):
            return False
        if len(known) < EVENTS_PER_MEMBER_MAX:
            if self._allowance.left:
                self._allowance.left -= 1
            elif known:
                known.popleft()  # its own oldest makes room: a living member is always heard
            else:
                return False
        known.append(event)
        self._events[event.member_id] = known
        if len(self._events) > MEMBERS_MAX:
            self._drop(next(iter(self._events)))
        return True

    def knows(self, member_id: str) -> bool:
        """Whether this member reports at all: then its silence means something."""
        return member_id in self._events

    def told(self, member_id: str) -> ReportedMember:
        """What the member said of itself last."""
        events = self._events.get(member_id)
        if not events:
            return ReportedMember()
        where = next((event.where for event in reversed(events) if event.where is not None), None)
        return ReportedMember(where, events[-1].process)

    def keep(self, member_ids: Iterable[str], since_ms: int) -> None:
        """Forget members that are neither among these nor heard of since ``since_ms``."""
        alive = set(member_ids)
        for member_id, events in list(self._events.items()):
            if member_id not in alive and all(event.timestamp_ms < since_ms for event in events):
                self._drop(member_id)
                continue
            while len(events) > 1 and events[0].timestamp_ms < since_ms:
                events.popleft()
                self._allowance.left += 1

    def clear(self) -> None:
        """Forget everything: the group is gone."""
        for member_id in list(self._events):
            self._drop(member_id)

    def revocations(self, member_id: str, span: ReportSpan) -> list[MemberEvent]:
        """The member's revoked callbacks in the span, by the time they were entered."""
        return sorted(
            self._within(member_id, span, (Callback.REVOKED,)), key=lambda event: (event.started_ms, event.event_id)
        )

    def stops(self, member: Member, span: ReportSpan) -> dict[Partition, int]:
        """Partition -> when the member stopped working on it: its revoked or lost callback was entered, or it left."""
        stopped: dict[Partition, int] = {}
        for event in self._within(member.member_id, span, _STOPS):
            leaving = event.callback is Callback.LEFT
            for partition in pairs(member.assigned if leaving else event.partitions):
                stopped[partition] = min(stopped.get(partition, event.started_ms), event.started_ms)
        return stopped

    def resumes(self, member_id: str, generation: Generation) -> dict[Partition, int]:
        """Partition -> when the member's assigned callback for this generation returned."""
        resumed: dict[Partition, int] = {}
        for event in self._events.get(member_id, ()):
            dated = event.generation == generation.number
            skew_ms = CLOCK_SKEW_MAX_MS if dated else UNDATED_SKEW_MAX_MS
            if (
                event.callback is Callback.ASSIGNED
                and (dated or event.generation < 0)
                and event.timestamp_ms >= generation.timestamp_ms - skew_ms
            ):
                for partition in pairs(event.partitions) - (set() if dated else self._given_up(event, generation)):
                    resumed[partition] = min(resumed.get(partition, event.timestamp_ms), event.timestamp_ms)
        return resumed

    def _drop(self, member_id: str) -> None:
        self._allowance.left += len(self._events.pop(member_id))

    def _given_up(self, assigned: MemberEvent, generation: Generation) -> set[Partition]:
        """What the member gave up between this generation and that report: the report is of a later generation."""
        return {
            partition
            for event in self._events.get(assigned.member_id, ())
            if event.callback in _STOPS and generation.timestamp_ms < event.started_ms <= assigned.timestamp_ms
            for partition in pairs(event.partitions)
        }

    def departure(self, member: Member, span: ReportSpan, recorded: Mapping[str, Departure] = _NOTHING) -> Departure:
        """How a member of the span's first generation went.

        It left if it said so, or gave up all that it had in time and did not rejoin. If it reports but said nothing of
        the kind, it failed. Of one that does not report the coordinator's records may know (``recorded``, by id).
        """
        events = list(self._within(member.member_id, span, _STOPS))
        said = {event.callback for event in events}
        if Callback.LEFT in said:
            return Departure.LEFT
        if Callback.LOST in said:
            return Departure.FAILED
        given_up = {
            partition
            for event in events
            if event.timestamp_ms <= span.until_ms + UNDATED_SKEW_MAX_MS
            for partition in pairs(event.partitions)
        }
        if member.assigned and pairs(member.assigned) <= given_up:
            return Departure.LEFT
        shown = recorded.get(member.member_id, Departure.UNKNOWN)
        return Departure.FAILED if shown is Departure.UNKNOWN and self.knows(member.member_id) else shown

    def _within(self, member_id: str, span: ReportSpan, callbacks: Iterable[Callback]) -> Iterator[MemberEvent]:
        wanted = frozenset(callbacks)
        for event in self._events.get(member_id, ()):
            if event.callback in wanted and span.has(event, event.started_ms):
                yield event
