"""What the tracker knows of a group right now: the value from which metrics, watch and the API are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.model.episode import Basis, Source, Trigger
from rebalance_agent.model.events import GenerationEvent, Workload
from rebalance_agent.model.group import GroupState, GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns.flapping import FlappingMember

__all__ = [
    "COUNTED_LATE_MS",
    "STALL_BUCKETS",
    "Counters",
    "Exemplar",
    "GroupView",
    "MemberLoad",
    "PartitionSeconds",
    "RunningRebalance",
    "StallHistogram",
    "partition_seconds_at",
]

COUNTED_LATE_MS = 1_000
"""A scrape counts up to so long ago: what ended meanwhile, and is still on its way to the tracker, must not make a
counter fall afterwards."""


@dataclass(frozen=True, slots=True)
class MemberLoad:
    """One member's share right now; ``assigned`` is None where it was never seen outside of a rebalance (polls only).

    ``target`` is what its strategy promises it, in partitions; ``topics`` what it subscribes to; ``where`` it runs, if
    its sidecar has told.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: TopicPartitions | None
    target: float | None = None
    topics: tuple[str, ...] | None = None
    where: Workload | None = None


@dataclass(frozen=True, slots=True)
class RunningRebalance:
    """A rebalance that has begun and not closed.

    ``stalled_partitions``: how many are known to stand still (eager: all; cooperative: those of departed members).
    """

    started_ms: int
    stalled_partitions: int


STALL_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0)
"""Upper bounds in seconds of the stall histogram: from a quick follow-up to a hung group."""


class Exemplar(NamedTuple):
    """One rebalance that fell into a bucket: its closing event's id, its stall, and when it completed."""

    event_id: str
    seconds: float
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class StallHistogram:
    """Stalls of one basis by bucket (see `Counters`).

    ``exemplars``: the last rebalance of each bucket that has one, by the bucket's index.
    """

    counts: tuple[int, ...] = (0,) * (len(STALL_BUCKETS) + 1)
    sum_seconds: float = 0.0
    exemplars: Mapping[int, Exemplar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since this process first saw the group; they only ever rise.

    ``assign_errors`` is None until members report: only they can say. ``stalls`` is by basis: how many episodes'
    stalls fell into each bucket of `STALL_BUCKETS` (not cumulative, the last entry counts what lies above the highest
    bound), and their sum in seconds.
    """

    completed: dict[Trigger, int] = field(default_factory=dict)
    followups: int = 0
    aborted: int = 0
    assign_errors: int | None = None
    noop: int = 0
    revoked: int = 0
    assigned: int = 0
    lost: int = 0
    moved: int = 0
    moved_excess: int = 0
    polled_changes: int = 0
    stalled_partition_seconds: float = 0.0
    partition_seconds: float = 0.0
    stalls: dict[Basis, StallHistogram] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group now. None means that the source cannot know it: such a metric is absent, never 0.

    ``version`` rises with every change, so that a renderer knows when its cached text is stale; what depends on the
    passing of time alone (running ages, partition-seconds since ``counted_until_ms``) does not raise it.
    ``last_join_seconds``, ``last_sync_seconds`` (classic) and ``last_reconcile_seconds`` (others): the longest phases
    among the last episode's generations.
    ``lag_skew_ratio``, ``rate_skew_ratio``: known where loads are followed (`loads.GroupLoads`).
    ``rollout``: the running or else the last one. ``flapping``: members that go and come back again and again.
    ``copartition_breaks``: known where the group is declared to read topics side by side (`copartition`).
    ``judged``: False in a first picture, in which what the assignors make of it (skew, idle members, targets) is not
    known yet.
    """

    group: str
    group_type: GroupType
    source: Source
    state: GroupState
    version: int
    first_seen_ms: int
    generation: int | None = None
    assignor: str | None = None
    protocol: RebalanceProtocol = RebalanceProtocol.UNKNOWN
    members: tuple[MemberLoad, ...] = ()
    static_members: int = 0
    idle_members: int | None = None
    partitions: int | None = None
    unassigned: int | None = None
    skew_ratio: float | None = None
    lag_skew_ratio: float | None = None
    rate_skew_ratio: float | None = None
    copartition_breaks: int | None = None
    imbalance: int | None = None
    topic_spread: tuple[tuple[str, float], ...] = ()
    rebalance_timeout_seconds: float | None = None
    metadata_bytes: int | None = None
    running: RunningRebalance | None = None
    last_episode: GenerationEvent | None = None
    last_join_seconds: float | None = None
    last_sync_seconds: float | None = None
    last_reconcile_seconds: float | None = None
    rollout: RolloutEvent | None = None
    flapping: tuple[FlappingMember, ...] = ()
    slowest_client_id: str | None = None
    slowest_host: str | None = None
    slowest_seconds: float | None = None
    counters: Counters = field(default_factory=Counters)
    counted_until_ms: int = 0
    judged: bool = True

    @property
    def edition(self) -> tuple[int, int, bool]:
        """What no other view of this group has: one that was deleted and came back counts its versions anew."""
        return self.first_seen_ms, self.version, self.judged


class PartitionSeconds(NamedTuple):
    """The SLO's two halves: partition-seconds that stood still, and all there were."""

    stalled: float
    total: float


def partition_seconds_at(view: GroupView, now_ms: int) -> PartitionSeconds:
    """The two counters at ``now_ms``, for a scrape: what the tracker counted, and what has passed since.

    An Empty group adds to neither: nobody is missing there.
    """
    counters, partitions = view.counters, view.partitions or 0
    seconds = max(0, now_ms - COUNTED_LATE_MS - view.counted_until_ms) / 1000 if view.members else 0.0
    stalled = min(view.running.stalled_partitions, partitions) if view.running else 0
    return PartitionSeconds(
        counters.stalled_partition_seconds + seconds * stalled, counters.partition_seconds + seconds * partitions
    )
