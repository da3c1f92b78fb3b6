"""Types of values derived from one group's evidence: times and their bounds, outages, and how members departed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import MemberEvent
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import shared_set
from rebalance_agent.tracking.evidence.commits.read_times import ReadTime

__all__ = [
    "FOREVER_MS",
    "CoordinatorChange",
    "Departure",
    "FirstCommits",
    "LastSeen",
    "Outage",
    "TimeBounds",
    "end_bounds",
    "stop_bounds",
]

FOREVER_MS = 1 << 62
"""A time (epoch ms) later than any other: the upper bound where none is known."""


MEASURED_SLACK_MS = 2
"""Subtracted (ms) from durations that clients push: clients and gateways measure whole milliseconds."""

CALLBACK_SECONDS_MAX = 86_400.0
"""Longest duration of a callback (s) that counts, since a report may contain any number."""


class Departure(StrEnum):
    """How a member departed: it left on its own, it failed, or this is unknown.

    ``EXPELLED``: it was removed because it did not revoke in time. ``SILENT``: it may have failed.
    """

    LEFT = "left"
    FAILED = "failed"
    EXPELLED = "expelled"
    SILENT = "silent"
    UNKNOWN = "unknown"

    @property
    def failed(self) -> bool:
        """Whether the member certainly failed."""
        return self in (Departure.FAILED, Departure.EXPELLED)

    @property
    def known(self) -> bool:
        """Whether the member certainly left or certainly failed."""
        return self.failed or self is Departure.LEFT


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The times when a departed member was last active (epoch ms): last contact with the coordinator, last work.

    ``contact_ms`` is a lower bound: the member may have sent heartbeats later, which no record shows. ``worked_ms``:
    the time of its last commit that was followed by a commit of a larger offset: the member consumed at least until
    then. ``read``: the time until which the member worked, according to the records that it read, if these were
    queried.
    """

    contact_ms: int | None = None
    worked_ms: int | None = None
    read: ReadTime | None = field(default=None, compare=False)


@dataclass(slots=True)
class FirstCommits:
    """The time (epoch ms) of each partition's first commit after a member got the partition; `take` adds commits.

    ``awaited``: the partitions that members got. ``later_ms``: the first commit of a partition after a later generation
    assigned it, if it had no commit before: the owner in that generation consumes it. ``released_ms``: when the member
    had to give up a partition that it had not committed.
    """

    at_ms: dict[Partition, int] = field(default_factory=dict)
    awaited: frozenset[Partition] | set[Partition] = frozenset()
    later_ms: dict[Partition, int] = field(default_factory=dict)
    released_ms: dict[Partition, int] = field(default_factory=dict)
    _earliest: dict[frozenset[Partition], int] = field(default_factory=dict, init=False, repr=False)

    def take(self, partition: Partition, at_ms: int) -> None:
        """Store the first commit of a partition."""
        self.at_ms[partition] = at_ms
        self._earliest.clear()

    def await_anew(self, partitions: Collection[Partition]) -> None:
        """Await the first commits of the partitions, and drop earlier commits and releases of these partitions."""
        if not self.awaited:
            self.awaited = shared_set(frozenset(set(partitions)))  # a copy takes half the memory of a set that grew
        elif isinstance(self.awaited, set):
            self.awaited.update(partitions)
        else:
            self.awaited = {*self.awaited, *partitions}
        for partition in partitions if self.at_ms else ():
            if self.at_ms.pop(partition, None) is not None:
                self._earliest.clear()
        for partition in partitions if self.released_ms else ():
            self.released_ms.pop(partition, None)

    def earliest(self, partitions: frozenset[Partition]) -> int:
        """Return the earliest first commit of any of ``partitions``; `FOREVER_MS` if none has one.

        The result is cached, since it is needed for each of a member's partitions, of which there may be thousands.
        """
        if partitions not in self._earliest:
            times = map(self.at_ms.__getitem__, partitions & self.at_ms.keys())
            self._earliest[partitions] = min(times, default=FOREVER_MS)
        return self._earliest[partitions]

    def shown_ms(self, partition: Partition, given_with: frozenset[Partition]) -> int:
        """Return the time (epoch ms) by which the owner's assigned callback had returned, as a commit shows.

        A commit of any partition in ``given_with``, which the owner got in the same callback or later, shows it. Once
        the owner had to give up ``partition``, only a commit of this partition does. `FOREVER_MS` if there is none.
        """
        first_ms = self.earliest(given_with)
        if first_ms > self.released_ms.get(partition, FOREVER_MS):
            return self.at_ms.get(partition, FOREVER_MS)
        return first_ms

    def after_release(self, partition: Partition) -> tuple[int | None, int | None]:
        """Return when the owner had to give up this partition, and the partition's first commit after that."""
        released_ms = self.released_ms.get(partition)
        return released_ms, None if released_ms is None else self.at_ms.get(partition)

    def rename(self, topic_name: Callable[[str], str]) -> None:
        """Replace topic ids whose names became known; ``topic_name`` returns the name for an id."""
        self.at_ms, self.later_ms, self.released_ms = (
            {(topic_name(topic), number): at_ms for (topic, number), at_ms in times.items()}
            for times in (self.at_ms, self.later_ms, self.released_ms)
        )
        self.awaited = frozenset((topic_name(topic), number) for topic, number in self.awaited)
        self._earliest.clear()


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """A time known to lie between two bounds (epoch milliseconds, coordinator's clock), and the evidence for them."""

    earliest_ms: int
    latest_ms: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class CoordinatorChange:
    """A new coordinator took over between the times of two records of its partition, ``after_ms`` and ``until_ms``."""

    after_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Outage:
    """A period (epoch ms) in which some broker did not answer ListGroups, between two polls that all brokers answered.

    It may also be a period after which a record became readable late, because other replicas did not have it. Members
    may have been unable to consume in this period. ``slow``: brokers answered, but seconds late all the time.
    """

    after_ms: int
    until_ms: int
    slow: bool = False

    def may_end_session(self, member: Member) -> bool:
        """Whether the member may have got no answer to a heartbeat for its session timeout.

        Clients send heartbeats at most a third of the session timeout apart. If no record contains the session timeout,
        it may be short.
        """
        session_ms = 0 if member.session_assumed else member.session_timeout_ms
        return not self.slow or 3 * (self.until_ms - self.after_ms) >= 2 * session_ms


def stop_bounds(event: MemberEvent) -> TimeBounds:
    """Return when the member stopped, according to this report."""
    if event.evidence is not Evidence.GATEWAY:
        return TimeBounds(event.started_ms, event.started_ms, Evidence.MEMBERS)
    # The frame that asked the member to revoke is known if the member took a while to answer.
    asked = event.stop_seconds is not None or event.timestamp_ms > event.started_ms
    earliest_ms = event.asked_ms if asked else 0
    return TimeBounds(earliest_ms, max(earliest_ms, event.timestamp_ms - _surely_ran_ms(event)), Evidence.GATEWAY)


def end_bounds(event: MemberEvent) -> TimeBounds:
    """Return when the member's assigned callback returned, according to this report."""
    if event.evidence is not Evidence.GATEWAY:
        return TimeBounds(event.timestamp_ms, event.timestamp_ms, Evidence.MEMBERS)
    fetched = event.timestamp_ms > event.started_ms
    earliest_ms = event.started_ms + _surely_ran_ms(event)
    if not fetched:
        return TimeBounds(earliest_ms, FOREVER_MS, Evidence.GATEWAY)
    return TimeBounds(min(earliest_ms, event.timestamp_ms), event.timestamp_ms, Evidence.GATEWAY)


def _surely_ran_ms(event: MemberEvent) -> int:
    """Return how long the callback behind a gateway's event took at least; 0 if the client has not measured it."""
    seconds = min(event.callback_seconds or 0.0, CALLBACK_SECONDS_MAX)
    return max(0, round(seconds * 1000) - MEASURED_SLACK_MS)
