"""The lag of one group in offsets and in seconds, by topic, and its partitions that make no progress. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.end_offsets import EndOffsets

__all__ = [
    "NO_LAGS",
    "GroupLag",
    "GroupProgress",
    "StuckPartition",
    "TopicLag",
    "Unread",
    "group_lag",
    "topic_lags",
    "unread_topics",
]


@dataclass(frozen=True, slots=True)
class TopicLag:
    """The lag of one topic's partitions: the sum in offsets, and the age in seconds of the oldest record to read.

    ``seconds`` is 0 without a lag, and None if the age is unknown in every partition with a lag.
    """

    topic: str
    offsets: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class StuckPartition:
    """A partition whose committed offset has not moved for ``seconds`` though there were records to read."""

    topic: str
    partition: int
    seconds: float


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The lag of a group's partitions that have a committed offset.

    ``offsets``: the sum of the offsets between committed and end offsets. ``seconds``: as in `TopicLag`.
    ``appended_per_second``: the growth of the end offsets; None before two measurements. ``topics``: the topic with the
    largest lag (in offsets) first. ``stuck``: of the stuck partitions that have an owner (see `GroupProgress`), the one
    that has been stuck longest. ``catch_up``: the catch-up of moved partitions; None in share groups. ``has_owned``:
    whether any partition has exactly one owner.
    """

    offsets: int
    seconds: float | None = None
    appended_per_second: float | None = None
    topics: tuple[TopicLag, ...] = ()
    stuck: StuckPartition | None = None
    catch_up: CatchUp | None = None
    has_owned: bool = False


class _Standing(NamedTuple):
    """A committed offset, first seen at ``since`` (monotonic seconds), and the end offset at that time."""

    committed: int
    end: int
    since: float


class GroupProgress:
    """The times since which the committed offsets of one group's owned partitions have not moved."""

    def __init__(self) -> None:
        """Start without partitions."""
        self._standing: dict[Partition, _Standing] = {}

    def take(
        self, at: float, owned: Collection[Partition], committed: Mapping[Partition, int], ends: EndOffsets
    ) -> StuckPartition | None:
        """Process the ``committed`` offsets at ``at`` (monotonic seconds); return the partition stuck for longest.

        A partition is stuck while records are appended to it and its committed offset stays. The time begins when the
        partition got its owner, with its last commit, or with the first record to read, whichever is latest.
        """
        standing, longest = {}, None
        for partition in owned:
            offset, end = committed.get(partition), ends.end(partition)
            if offset is None or end is None:
                continue
            before = self._standing.get(partition)
            if before is None or before.committed != offset or end < before.end:
                standing[partition] = _Standing(offset, end, at)
                continue
            standing[partition] = before
            if end > before.end and (age := ends.age(partition, offset)) is not None:
                seconds = min(at - before.since, age)
                if longest is None or seconds > longest.seconds:
                    longest = StuckPartition(*partition, seconds)
        self._standing = standing
        return longest


NO_LAGS: Mapping[str, GroupLag] = MappingProxyType({})
"""The lags of no group."""


class Unread(NamedTuple):
    """The ``records`` of a partition that a group has yet to read; ``first`` is the lowest of their offsets."""

    partition: Partition
    first: int
    records: int


def topic_lags(partitions: Iterable[Partition], committed: Mapping[Partition, int], ends: EndOffsets) -> list[TopicLag]:
    """Return the lag of each topic of ``partitions`` that has a committed offset, the largest (in offsets) first."""
    return unread_topics(
        (
            Unread(partition, offset, max(0, end - offset))
            for partition in partitions
            if (offset := committed.get(partition)) is not None and (end := ends.end(partition)) is not None
        ),
        ends,
    )


def unread_topics(unread: Iterable[Unread], ends: EndOffsets) -> list[TopicLag]:
    """Return the lag of each topic of the ``unread`` records, the largest (in offsets) first."""
    offsets: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for partition, first, records in unread:
        topic = partition[0]
        offsets[topic] = offsets.get(topic, 0) + records
        if records and (age := ends.age(partition, first)) is not None:
            seconds[topic] = max(seconds.get(topic, 0.0), age)
    lags = [TopicLag(topic, lag, seconds.get(topic) if lag else 0.0) for topic, lag in offsets.items()]
    return sorted(lags, key=lambda lag: (-lag.offsets, lag.topic))


def group_lag(
    topics: list[TopicLag],
    rates: Iterable[float | None] = (),
    stuck: StuckPartition | None = None,
    catch_up: CatchUp | None = None,
    *,
    has_owned: bool = False,
) -> GroupLag | None:
    """Return the lag of a group with these ``topics``; None without topics. ``rates``: per partition, in records/s."""
    if not topics:
        return None
    known_rates = [rate for rate in rates if rate is not None]
    lagging = [lag for lag in topics if lag.offsets]
    seconds = [lag.seconds for lag in lagging if lag.seconds is not None]
    return GroupLag(
        sum(lag.offsets for lag in lagging),
        max(seconds, default=None) if lagging else 0.0,
        sum(known_rates) if known_rates else None,
        tuple(topics),
        stuck,
        catch_up,
        has_owned,
    )
