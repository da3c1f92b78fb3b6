"""Values derived from one group's evidence: times and their bounds, outages, and how members departed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.generation_diff import Partition
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
]

FOREVER_MS = 1 << 62
"""A time (epoch ms) after any other: an upper bound where none is known."""


class Departure(StrEnum):
    """The way in which a member departed: it left by itself, it failed, or that is unknown.

    ``EXPELLED``: it failed, since it did not revoke in time. ``SILENT``: nothing excludes that it failed.
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
    its last commit that a commit of a larger offset followed: the member consumed until then at least. ``read``: until
    when it worked by the records that it read, where that was asked.
    """

    contact_ms: int | None = None
    worked_ms: int | None = None
    read: ReadTime | None = field(default=None, compare=False)


@dataclass(slots=True)
class FirstCommits:
    """The first commit (epoch ms) of each partition after a member got it; `take` adds them as they are read.

    ``awaited``: the partitions that members got. ``later_ms``: the first commit of a partition that a later generation
    assigned before any came. Its owner of that generation consumes it. ``released_ms``: when the member had to give up
    a partition before its first commit of it.
    """

    at_ms: dict[Partition, int] = field(default_factory=dict)
    awaited: frozenset[Partition] | set[Partition] = frozenset()
    later_ms: dict[Partition, int] = field(default_factory=dict)
    released_ms: dict[Partition, int] = field(default_factory=dict)
    _earliest: dict[frozenset[Partition], int] = field(default_factory=dict, init=False, repr=False)

    def take(self, partition: Partition, at_ms: int) -> None:
        """Take the first commit of a partition."""
        self.at_ms[partition] = at_ms
        self._earliest.clear()

    def await_anew(self, partitions: Collection[Partition]) -> None:
        """Await the first commits of the partitions, and forget earlier commits and releases of the same ones."""
        if not self.awaited:
            self.awaited = shared_set(frozenset(set(partitions)))  # of a set: one that grows takes twice the memory
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

        It is asked for each partition of a member that has thousands, so it is remembered.
        """
        if partitions not in self._earliest:
            times = map(self.at_ms.__getitem__, partitions & self.at_ms.keys())
            self._earliest[partitions] = min(times, default=FOREVER_MS)
        return self._earliest[partitions]

    def shown_ms(self, partition: Partition, given_with: frozenset[Partition]) -> int:
        """Return the time by which, as a commit shows, the owner's assigned callback had returned (epoch ms).

        Any partition of ``given_with``, which the owner got in the same callback or later, shows it, until the owner
        had to give up ``partition``: then only its own commit does. `FOREVER_MS` if there is none.
        """
        first_ms = self.earliest(given_with)
        if first_ms > self.released_ms.get(partition, FOREVER_MS):
            return self.at_ms.get(partition, FOREVER_MS)
        return first_ms

    def after_release(self, partition: Partition) -> tuple[int | None, int | None]:
        """Return facts about this partition alone: when its owner had to give it up, and its commit after that."""
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
    """A moment between two bounds (epoch milliseconds, coordinator's clock), and the evidence for them."""

    earliest_ms: int
    latest_ms: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class CoordinatorChange:
    """A new coordinator took over between two records of its partition (epoch ms): ``after_ms`` and ``until_ms``."""

    after_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Outage:
    """Some broker did not answer ListGroups between two polls that all brokers answered (epoch ms).

    Or a record became readable late, because other replicas did not have it. Members may have been unable to consume
    meanwhile.
    """

    after_ms: int
    until_ms: int
