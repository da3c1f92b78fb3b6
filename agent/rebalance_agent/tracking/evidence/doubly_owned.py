"""Measures partitions with two owners: a removed member held them after a record gave them to another member.

Such a member has not detected that the coordinator removed it, because it was suspended or did not poll for too long.
It may process records that the new owner processes as well. Only the member's report shows this, and only afterwards.
The client calls the lost or revoked callback when it learns of its removal. A process that ended is not counted.

The measured time is a lower bound. It begins with the record that gives the partition to another member (coordinator's
clock) and ends when the callback is entered (member's clock). It is computed in two ways: as the difference of these
two times, and from durations alone, as the time for which the member held the partition since an assigned callback,
minus the time between the record of that generation and the record of the new owner. The smaller result counts. A wrong
clock makes neither result too large, unless the clock is set during that time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.assignors import find_strategy
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.partition_ranges import among
from rebalance_agent.model.partitions import count_partitions, pairs, topic_partitions
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS
from rebalance_agent.tracking.evidence.member_reports import MemberReports

__all__ = [
    "DRIFT",
    "GENERATIONS_MAX",
    "KEPT_MS",
    "REMOVED_MAX",
    "REWRITTEN_MS",
    "TIMES_MAX",
    "UNREPORTED_MAX",
    "DoublyOwned",
    "FormerOwner",
]

GENERATIONS_MAX = 64
"""Generations whose times are kept. A cooperative member reports only generations that change its partitions; a member
whose last report is older than all kept generations is not measured."""

UNREPORTED_MAX = 4
"""Generations whose times are kept until a member has reported: a member's first reports are about the last
generations."""

REMOVED_MAX = 10_000
"""Maximum number of removed members' partitions kept per group; the members removed first are dropped first."""

KEPT_MS = 3_600_000
"""How long (ms) a removed member's report is awaited; a process suspended for longer has been detected by other
means."""

TIMES_MAX = 16
"""Maximum number of ownership periods kept per partition without an owner in between; earlier ones are not counted."""

REWRITTEN_MS = 1_000
"""How long (ms) before the group's last change of state, as a rewritten record contains it, members may have got the
generation: the coordinator answers them at the same moment."""

DRIFT = 10_000
"""A clock that is not set gains at most 1 ms in this many ms (100 ppm, several times a quartz clock's drift)."""

_STOPS = (Callback.LOST, Callback.REVOKED)


@dataclass(frozen=True, slots=True)
class FormerOwner:
    """A removed member that held ``partitions`` (a count) that others owned, one of them for at least ``seconds``.

    ``until_ms``: when it gave them up (epoch ms, its own clock).
    """

    member_id: str
    client_id: str
    host: str
    partitions: int
    seconds: float
    until_ms: int


class _Clock(NamedTuple):
    """A member's assigned callback: at ``own_ms`` (its own clock), not before ``record_ms`` (coordinator's clock)."""

    own_ms: int
    record_ms: int

    def at_least_ms(self, own_ms: int) -> int:
        """Return the earliest coordinator's time (epoch ms) that corresponds to the member's time ``own_ms``."""
        drift_ms = abs(own_ms - self.own_ms) // DRIFT
        rounded_ms = 1  # all times are whole milliseconds
        return min(own_ms, self.record_ms + own_ms - self.own_ms) - drift_ms - rounded_ms


@dataclass(slots=True)
class _Held:
    """``given_ms``: when a record gave the partition to another member; ``taken_ms``: when it had no owner again.

    ``earlier``: these two times for at most `TIMES_MAX` earlier periods.
    """

    given_ms: int | None = None
    taken_ms: int = FOREVER_MS
    stopped_ms: int | None = None
    earlier: tuple[tuple[int, int], ...] = ()

    def give(self, at_ms: int) -> None:
        """Process a record that gives the partition to another member."""
        if self.given_ms is not None and self.taken_ms < FOREVER_MS:
            self.earlier = (*self.earlier[1 - TIMES_MAX :], (self.given_ms, self.taken_ms))
            self.given_ms, self.taken_ms = None, FOREVER_MS
        if self.given_ms is None:
            self.given_ms = at_ms

    def doubly_ms(self, stopped_ms: int) -> int:
        """Return for how long (ms) another member had owned the partition by ``stopped_ms``."""
        spans = self.earlier if self.given_ms is None else (*self.earlier, (self.given_ms, self.taken_ms))
        return sum(max(0, min(stopped_ms, taken_ms) - given_ms) for given_ms, taken_ms in spans)


@dataclass(slots=True)
class _Removed:
    """A member that is no longer in the group's record. ``returned_ms``: when it joined again under its id."""

    member_id: str
    client_id: str
    host: str
    clock: _Clock
    removed_ms: int
    due_ms: int
    returned_ms: int = FOREVER_MS
    held: dict[Partition, _Held] = field(default_factory=dict)


class DoublyOwned:
    """The partitions of one group that had two owners. Times are epoch ms.

    ``last``: the last member that was found; None if none was found. Methods that find partitions with two owners
    return their partition-seconds.
    """

    def __init__(self, reports: MemberReports) -> None:
        """``reports``: the reports of the group's members."""
        self.last: FormerOwner | None = None
        self._reports = reports
        self._times: dict[int, int] = {}
        self._removed: dict[str, _Removed] = {}

    @property
    def awaiting(self) -> bool:
        """Whether the report of a removed member is awaited."""
        return bool(self._removed)

    def start(self, generation: int, at_ms: int) -> None:
        """Store the time of a record; no member can receive this ``generation`` (or group epoch) earlier."""
        if self._times and generation < next(reversed(self._times)):
            self._times.clear()  # the group was deleted and created again
        self._times.setdefault(generation, at_ms)
        if len(self._times) > (GENERATIONS_MAX if self._reports else UNREPORTED_MAX):
            del self._times[next(iter(self._times))]

    def start_before(self, generation: Generation) -> None:
        """Process a classic group's last record from before the observer started: its members may stay for long.

        The record may have been rewritten since members learned of the generation, but its time stayed.
        """
        state_ms = generation.value.current_state_timestamp_ms
        if state_ms >= 0 and generation.members:
            self.start(generation.number, min(state_ms, generation.timestamp_ms) - REWRITTEN_MS)

    def complete(self, before: Generation | None, generation: Generation) -> float:
        """Process a completed generation of a classic group, and the one ``before`` it."""
        at_ms = generation.timestamp_ms
        if generation.number != before.number if before else generation.number <= 1:
            # In other cases, the record may have been rewritten after members had learned of the generation.
            self.start(generation.number, at_ms)
        ids = {member.member_id for member in generation.members} if self._reports else set[str]()
        members = before.members if before and self._reports else ()
        gone = [member for member in members if member.member_id not in ids]
        if not gone and not self._removed:
            return 0.0
        if _several_owners(generation) or (before and _several_owners(before)):
            self.forget()
            return 0.0
        for member in gone:
            had = pairs(member.assigned)
            self.remove(member.member_id, member.client_id, member.client_host, had, at_ms, generation.seen_ms)
        given = owners(generation.value).keys()
        return self.move(given, owners(before.value).keys() - given if before else (), at_ms)

    def remove(
        self, member_id: str, client_id: str, host: str, partitions: Collection[Partition], at_ms: int, now_ms: int
    ) -> None:
        """Process a record, at ``at_ms``, without a member that was the only owner of ``partitions`` until then.

        ``now_ms``: by the observer's clock.
        """
        clock = self._clock(member_id)
        if clock is None:
            return
        removed = _Removed(member_id, client_id, host, clock, at_ms, now_ms + KEPT_MS)
        given_up = self._reports.given_up(member_id, topic_partitions(partitions))
        for partition in partitions:
            stopped_ms = given_up.get(partition)
            if stopped_ms is None or clock.at_least_ms(stopped_ms) > at_ms:
                removed.held[partition] = _Held(stopped_ms=stopped_ms)
        self._removed.pop(member_id, None)
        if removed.held:
            self._removed[member_id] = removed
            while sum(len(member.held) for member in self._removed.values()) > REMOVED_MAX:
                del self._removed[next(iter(self._removed))]

    def rejoin(self, member_id: str, at_ms: int) -> None:
        """Process a record that contains a member; a member that had been removed has detected this by now."""
        if removed := self._removed.get(member_id):
            removed.returned_ms = min(removed.returned_ms, at_ms)

    def move(self, given: Collection[Partition], unowned: Collection[Partition], at_ms: int) -> float:
        """Process a record that leaves partitions ``unowned`` and gives the ``given`` ones to members."""
        seconds = 0.0
        for removed in list(self._removed.values()):
            for partition, held in removed.held.items():
                if partition in given:
                    held.give(at_ms)
                elif partition in unowned and held.given_ms is not None:
                    held.taken_ms = min(held.taken_ms, at_ms)
            seconds += self._find(removed)
        return seconds

    def report(self, event: MemberEvent) -> float:
        """Process a new report of a member."""
        removed = self._removed.get(event.member_id) if event.callback in _STOPS else None
        if removed is None or event.evidence is not None:
            return 0.0
        if removed.returned_ms < FOREVER_MS and event.callback is not Callback.LOST:
            return 0.0  # the report is about partitions that the member got after its return
        for partition in among(event.partitions, topic_partitions(removed.held)):
            removed.held[partition].stopped_ms = event.started_ms
        return self._find(removed)

    def pass_time(self, now_ms: int) -> None:
        """Drop the members whose report is no longer awaited."""
        for removed in [member for member in self._removed.values() if now_ms >= member.due_ms]:
            del self._removed[removed.member_id]

    def forget(self) -> None:
        """Drop all removed members: records are missing, so owners may have changed unseen."""
        self._removed.clear()

    def _clock(self, member_id: str) -> _Clock | None:
        """Return the member's last assigned callback for a generation whose time is known."""
        assigned = (
            _Clock(event.started_ms, self._times[event.generation])
            for event in self._reports.own(member_id, Callback.ASSIGNED)
            if event.generation in self._times
        )
        return max(assigned, default=None)

    def _find(self, removed: _Removed) -> float:
        """Return the partition-seconds of the partitions whose end is known, and drop these partitions."""
        spans = dict(_found(removed))
        for partition in spans:
            del removed.held[partition]
        if not removed.held:
            del self._removed[removed.member_id]
        if doubly := {partition: span for partition, span in spans.items() if span.seconds > 0}:
            self.last = FormerOwner(
                removed.member_id,
                removed.client_id,
                removed.host.removeprefix("/"),
                len(doubly),
                max(span.seconds for span in doubly.values()),
                max(span.until_ms for span in doubly.values()),
            )
        return sum(span.seconds for span in doubly.values())


def _several_owners(generation: Generation) -> bool:
    """Whether partitions have several owners on purpose."""
    strategy = find_strategy(generation.value.protocol or "")
    assigned = sum(count_partitions(member.assigned) for member in generation.members)
    return (strategy is not None and strategy.redundancy is not None) or assigned > len(owners(generation.value))


class _Span(NamedTuple):
    seconds: float
    until_ms: int


def _found(removed: _Removed) -> Iterator[tuple[Partition, _Span]]:
    for partition, held in removed.held.items():
        if held.stopped_ms is None:
            continue
        stopped_ms = min(removed.clock.at_least_ms(held.stopped_ms), removed.returned_ms)
        if held.given_ms is not None:
            yield partition, _Span(held.doubly_ms(stopped_ms) / 1000, held.stopped_ms)
        elif stopped_ms <= removed.removed_ms:
            yield partition, _Span(0.0, held.stopped_ms)
