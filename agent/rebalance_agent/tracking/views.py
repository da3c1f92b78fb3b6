"""The view of a group: the frozen value from which metrics, the API, the page and ``watch`` are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.model.episode import Basis, Source, Trigger
from rebalance_agent.model.epoch_groups import Pending, StreamsTopology
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import (
    DeadLetterQueue,
    GroupState,
    GroupType,
    RebalanceProtocol,
    StreamsMember,
    TaskKind,
)
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.reported.deliveries_event import ShareDeliveries
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.evidence.doubly_owned import FormerOwner
from rebalance_agent.tracking.patterns.costly_members import AwaitedMember, DepartedMember
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup, UnownedTime
from rebalance_agent.tracking.patterns.flapping import FlappingMember
from rebalance_agent.tracking.patterns.group_stalls import StalledTime

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
"""How long (ms) before a scrape the running counters end. The record that ends a stall may still be on its way to the
tracker, and a counter must not decrease later."""


@dataclass(frozen=True, slots=True)
class MemberLoad:
    """One member with its assignment; ``assigned`` is None if polls only ever found the group rebalancing.

    ``target``: the number of partitions that the assignor aims to give it. ``topics``: its subscription. ``where``: its
    workload, if its sidecar reported it. ``occupant``: the consumer that has the member's seat, if a gateway reported a
    consumer other than the one that the coordinator names. ``software``: its client library, if reported.
    ``streams``: its tasks and process; None in groups of other types than streams.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: TopicPartitions | None
    target: float | None = None
    topics: tuple[str, ...] | None = None
    where: Workload | None = None
    occupant: SeatOccupant | None = None
    software: ClientSoftware | None = None
    streams: StreamsMember | None = None


@dataclass(frozen=True, slots=True)
class RunningRebalance:
    """A rebalance that has started and is not closed.

    ``stalled_partitions``: the number of partitions that are certainly stalled. ``unsure_partitions``: the number of
    others that may be stalled: in an eager group, members stop when they learn of the rebalance and poll; in a
    cooperative one, they revoke partitions of the follow-up when they poll. ``pending``: known where the coordinator
    assigns and has computed the new assignment.
    """

    started_ms: int
    stalled_partitions: int
    unsure_partitions: int = 0
    pending: Pending | None = None


STALL_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0)
"""Upper bounds (seconds) of the stall histogram: from a quick follow-up to a hung group."""


class Exemplar(NamedTuple):
    """One rebalance of a histogram bucket: its closing event, its stall, and when it completed.

    ``event_id``: the id of the event. ``trace``: the cluster, group and generation, which determine the id of the
    trace.
    """

    event_id: str
    seconds: float
    timestamp_ms: int
    trace: tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class StallHistogram:
    """The stall histogram of one basis (see `Counters`); ``counts`` are not cumulative.

    ``exemplars``: the last rebalance of each bucket that has one, by the bucket's index.
    """

    counts: tuple[int, ...] = (0,) * (len(STALL_BUCKETS) + 1)
    sum_seconds: float = 0.0
    exemplars: Mapping[int, Exemplar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since this process detected the group; they never decrease.

    ``assign_errors`` is None until members report, because only members report the errors. ``stalls`` contains, for
    each basis, the number of episodes in each bucket of `STALL_BUCKETS` (not cumulative; the last entry is above the
    highest bound), and their sum in seconds. ``stalls`` and ``stalled_partition_seconds`` add up lower bounds, the
    ``upper`` fields those upper bounds that are known. ``doubly_owned_partition_seconds`` is also None until members
    report (see `DoublyOwned`).
    """

    completed: dict[Trigger, int] = field(default_factory=dict)
    followups: int = 0
    aborted: int = 0
    assign_errors: int | None = None
    noop: int = 0
    revoked: int = 0
    assigned: int = 0
    lost: int = 0
    expelled: int = 0
    moved: int = 0
    moved_excess: int = 0
    polled_changes: int = 0
    stalled_partition_seconds: float = 0.0
    partition_seconds: float = 0.0
    doubly_owned_partition_seconds: float | None = None
    upper_stalled_partition_seconds: float = 0.0
    stalls: dict[Basis, StallHistogram] = field(default_factory=dict)
    upper_stalls: StallHistogram = field(default_factory=StallHistogram)


@dataclass(frozen=True, slots=True)
class GroupView:
    """The current state of a group. A field is None if its source lacks it; its metric is then absent, never 0.

    ``version`` increases with every change, so that a cached text of the view can be reused until then. Values that
    change only with time (age of a rebalance, partition-seconds since ``counted_until_ms``) do not increase it.
    ``unsettled_ms``: when the last episode that has not settled yet completed, by its record's timestamp.
    ``unsettled``: the number of such episodes that ``counters`` does not include yet.
    ``last_join_seconds``, ``last_sync_seconds`` (classic), ``last_assignor_wait_seconds`` and
    ``last_reconcile_seconds`` (other types): the longest phase among the last episode's generations.
    ``lag_skew_ratio``, ``rate_skew_ratio``: known where loads are measured (`loads.GroupLoads`). ``rollout``: the
    current rollout or, without one, the last; ``rollout_in_progress``: it continues, and nothing fails. ``flapping``:
    members that leave and return repeatedly. ``awaited``: the slowest members of recent rebalances, for which the
    others waited. ``departed``: members that failed, or that keep leaving. ``recent_ms``: when the last rebalances
    completed (see `recent_rebalances.with_rebalance`). ``leader_member_id``: the member that computed the assignment;
    None if the coordinator assigns. ``host_spread``: known where some topic could be on several hosts; polls do not
    show the subscriptions for it. ``former_owner``: the last removed member that still held partitions that others
    already owned. ``streams_tasks``: the number of tasks of each kind; None in groups of other types than streams.
    ``copartition_breaks``: known where the group's topics are declared co-partitioned (`copartition`).
    ``dead_letter_queue``: known of share groups whose settings brokers return (Kafka 4.4).
    ``deliveries``: known of share groups with consumers behind gateways.
    ``topology``: known of streams groups that are ready.
    ``empty``: known where the group has no members and had some before, unless it may be Empty on purpose. Then
    ``partitions`` and ``unassigned`` count the partitions that its members had subscribed to; None if the last members
    are unknown. ``consumes``: its members are consumers, known from records. ``unowned``: partition-seconds without an
    owner. ``stalled_time``: the stalls of the group, as of
    ``counted_until_ms``. ``judged``: False in a first view whose assignment quality (skew, idle members, targets) is
    not computed yet. ``judged_version``: the version of the view whose quality this view shows; in very large groups,
    that view is some seconds older.
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
    leader_member_id: str | None = None
    members: tuple[MemberLoad, ...] = ()
    static_members: int = 0
    streams_tasks: Mapping[TaskKind, int] | None = None
    idle_members: int | None = None
    consumes: bool = False
    partitions: int | None = None
    unassigned: int | None = None
    skew_ratio: float | None = None
    lag_skew_ratio: float | None = None
    rate_skew_ratio: float | None = None
    copartition_breaks: int | None = None
    dead_letter_queue: DeadLetterQueue | None = None
    deliveries: ShareDeliveries | None = None
    topology: StreamsTopology | None = None
    imbalance: int | None = None
    topic_spread: tuple[tuple[str, float], ...] = ()
    host_spread: HostSpread | None = None
    rebalance_timeout_seconds: float | None = None
    metadata_bytes: int | None = None
    running: RunningRebalance | None = None
    unsettled_ms: int | None = None
    unsettled: int = 0
    last_episode: GenerationEvent | None = None
    last_join_seconds: float | None = None
    last_sync_seconds: float | None = None
    last_assignor_wait_seconds: float | None = None
    last_reconcile_seconds: float | None = None
    rollout: RolloutEvent | None = None
    rollout_in_progress: bool = False
    flapping: tuple[FlappingMember, ...] = ()
    former_owner: FormerOwner | None = None
    awaited: tuple[AwaitedMember, ...] = ()
    departed: tuple[DepartedMember, ...] = ()
    recent_ms: tuple[int, ...] = ()
    counters: Counters = field(default_factory=Counters)
    counted_until_ms: int = 0
    empty: EmptyGroup | None = None
    unowned: UnownedTime = field(default_factory=UnownedTime)
    stalled_time: StalledTime = field(default_factory=StalledTime)
    judged: bool = True
    judged_version: int = 0

    @property
    def edition(self) -> tuple[int, int, int]:
        """The identity of this view: no other view of the group has it, even if the group was deleted and recreated."""
        return self.first_seen_ms, self.version, self.judged_version if self.judged else -1

    @property
    def at_rest(self) -> bool:
        """Whether only the partition-seconds of the group change as long as this view is current."""
        return (
            self.running is None
            and self.empty is None
            and self.unowned.now is None
            and self.stalled_time.since_ms is None
        )


class PartitionSeconds(NamedTuple):
    """The two counters of the availability SLO: stalled partition-seconds, and all partition-seconds."""

    stalled: float
    total: float


def partition_seconds_at(view: GroupView, now_ms: int) -> PartitionSeconds:
    """Return the two counters at ``now_ms``, for a scrape: the tracker's totals plus the time since then.

    An Empty group adds to neither.
    """
    counters, partitions = view.counters, view.partitions or 0
    seconds = max(0, now_ms - COUNTED_LATE_MS - view.counted_until_ms) / 1000 if view.members else 0.0
    stalled = min(view.running.stalled_partitions, partitions) if view.running else 0
    return PartitionSeconds(
        counters.stalled_partition_seconds + seconds * stalled, counters.partition_seconds + seconds * partitions
    )
