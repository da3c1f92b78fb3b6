"""Metrics of groups: what the observer knows from the coordinator's records, or from polls where it may not read them.

Gauges of one group aggregate with ``max``, counters with ``sum by (consumergroup) (increase(...))``.
"""

from __future__ import annotations

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.model.episode import Basis, FailureReason, Source, Trigger
from rebalance_agent.model.group import GroupState, GroupType, RebalanceProtocol
from rebalance_agent.tracking.views import STALL_BUCKETS

__all__ = [
    "ASSIGNED",
    "COMPLETED",
    "COPARTITION_BREAKS",
    "FAILED",
    "FLAPPING",
    "FOLLOWUPS",
    "GENERATION",
    "GROUP_ROWS",
    "IDLE_MEMBERS",
    "IMBALANCE",
    "INFO",
    "IN_PROGRESS",
    "LAST_COMPLETED",
    "LAST_JOIN",
    "LAST_RECONCILE",
    "LAST_SYNC",
    "LOST",
    "MEMBERS",
    "METADATA_BYTES",
    "MOVED",
    "MOVED_EXCESS",
    "NOOP",
    "OWNER_MEMBERS",
    "OWNER_PARTITIONS",
    "PARTITIONS",
    "PARTITION_SECONDS",
    "POLLED_CHANGES",
    "REVOKED",
    "ROLLOUT",
    "SKEW",
    "SLOWEST_MEMBER",
    "STALL",
    "STALLED_PARTITION_SECONDS",
    "STATE",
    "STATIC_MEMBERS",
    "TIMEOUT",
    "TOPIC_SPREAD",
    "UNASSIGNED",
]

_GROUP = ("consumergroup",)
_OWNER = ("consumergroup", "client_id", "host")


def _gauge(name: str, text: str, unit: str = "", labels: tuple[str, ...] = _GROUP) -> Metric:
    return Metric(f"kafka_rebalance_{name}", MetricType.GAUGE, ExporterRole.OBSERVER, text, labels, unit)


def _counter(name: str, text: str, unit: str = "") -> Metric:
    return Metric(f"kafka_rebalance_{name}_total", MetricType.COUNTER, ExporterRole.OBSERVER, text, _GROUP, unit)


GENERATION = _gauge("generation", "Generation (classic) or group epoch.")
INFO = Metric(
    "kafka_rebalance_group_info",
    MetricType.INFO,
    ExporterRole.OBSERVER,
    "What the group runs and where its facts come from; always 1.",
    ("consumergroup", "group_type", "assignor", "rebalance_protocol", "source"),
    values={
        "group_type": tuple(GroupType),
        "rebalance_protocol": tuple(RebalanceProtocol),
        "source": tuple(Source),
    },
)
STATE = Metric(
    "kafka_rebalance_group_state",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "1 for the state that the group is in, 0 for the others that its type can have.",
    ("consumergroup", "state"),
    values={"state": tuple(state for state in GroupState if state is not GroupState.DEAD)},
)
MEMBERS = _gauge("members", "Members of the group.", "members")
STATIC_MEMBERS = _gauge("static_members", "Members with a group.instance.id.", "members")
IDLE_MEMBERS = _gauge(
    "idle_members",
    "Members that should have partitions by their strategy and have none; standbys are not idle.",
    "members",
)
COMPLETED = Metric(
    "kafka_rebalance_completed_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Rebalances completed, by the first cause. A cooperative rebalance with its follow-ups is one.",
    ("consumergroup", "trigger"),
    "rebalances",
    {"trigger": tuple(Trigger)},
)
FOLLOWUPS = _counter("followups", "Follow-up generations of cooperative rebalances.", "generations")
FAILED = Metric(
    "kafka_rebalance_failed_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Rebalances that came to nothing. aborted: the coordinator began a generation and never completed it; "
    "assign_error: the leader's assign() raised, as it reports (absent until members report).",
    ("consumergroup", "reason"),
    "rebalances",
    {"reason": tuple(FailureReason)},
)
NOOP = _counter("noop", "Rebalances after which everyone owned what they had owned before.", "rebalances")
STALL = Metric(
    "kafka_rebalance_stall_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.OBSERVER,
    "Longest standstill of a partition in each rebalance. exact: reported by members; bound: at most this long.",
    ("consumergroup", "basis"),
    "seconds",
    {"basis": tuple(Basis)},
    STALL_BUCKETS,
)
LAST_JOIN = _gauge(
    "last_join_seconds",
    "Join phase of the last rebalance: the wait for the slowest member. Classic groups only.",
    "seconds",
)
LAST_SYNC = _gauge(
    "last_sync_seconds",
    "Sync phase of the last rebalance: the leader's assign() and its way. Classic groups only.",
    "seconds",
)
LAST_RECONCILE = _gauge(
    "last_reconcile_seconds",
    "From the coordinator's last assignment until all members had theirs. Consumer, share and streams groups only.",
    "seconds",
)
IN_PROGRESS = _gauge("in_progress_seconds", "Age of the running rebalance, 0 when none runs.", "seconds")
TIMEOUT = _gauge("timeout_seconds", "Largest rebalance timeout of the members.", "seconds")
STALLED_PARTITION_SECONDS = _counter(
    "stalled_partition_seconds", "Seconds that partitions stood still, summed over partitions.", "partition-seconds"
)
PARTITION_SECONDS = _counter(
    "partition_seconds", "Seconds that partitions were to be consumed, summed over partitions.", "partition-seconds"
)
REVOKED = _counter("partitions_revoked", "Partitions that members had to give up.", "partitions")
ASSIGNED = _counter("partitions_assigned", "Partitions that members were newly given.", "partitions")
LOST = _counter("partitions_lost", "Partitions of members that went without giving them up.", "partitions")
MOVED = _counter("partitions_moved", "Partitions that changed their owner.", "partitions")
MOVED_EXCESS = _counter(
    "partitions_moved_excess",
    "Partitions that changed their owner beyond the fewest this balance needed.",
    "partitions",
)
PARTITIONS = _gauge("partitions", "Partitions of the subscribed topics.", "partitions")
UNASSIGNED = _gauge("partitions_unassigned", "Partitions of the subscribed topics without an owner.", "partitions")
SKEW = Metric(
    "kafka_rebalance_assignment_skew_ratio",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Highest load of a member / the best it could be; 1 is best. partitions: what the strategy promises that member; "
    "lag (records behind), rate (records/s produced): a bound that no assignment can beat, for followed groups only.",
    ("consumergroup", "weight"),
    "ratio",
    {"weight": ("partitions", "lag", "rate")},
)
COPARTITION_BREAKS = _gauge(
    "copartition_breaks",
    "Partition numbers with different owners in topics that are declared to be read side by side.",
    "partitions",
)
IMBALANCE = _gauge("assignment_imbalance_partitions", "Highest load above its target; 0 is optimal.", "partitions")
TOPIC_SPREAD = _gauge(
    "topic_spread_ratio",
    "Owners of the topic / owners it could have; only the worst topics, and only below 1.",
    "ratio",
    ("consumergroup", "topic"),
)
OWNER_PARTITIONS = _gauge(
    "owner_partitions", "Partitions of a member; of members with equal labels the highest.", "partitions", _OWNER
)
OWNER_MEMBERS = _gauge("owner_members", "Members with these labels.", "members", _OWNER)
ROLLOUT = _gauge(
    "rollout_in_progress",
    "1 while the group's members are being replaced one after the other, as in a deploy; else 0.",
)
FLAPPING = _gauge("flapping_members", "Members that leave and come back again and again.", "members")
SLOWEST_MEMBER = _gauge(
    "slowest_member_seconds",
    "How long the slowest member kept the last rebalance waiting; absent an hour later.",
    "seconds",
    _OWNER,
)
LAST_COMPLETED = _gauge("last_completed_timestamp_seconds", "When the last rebalance completed, Unix time.", "seconds")
METADATA_BYTES = _gauge(
    "group_metadata_bytes",
    "Size of a classic group's record, which max.message.bytes of __consumer_offsets limits. Groups of other types "
    "have a small record for each member instead.",
    "bytes",
)
POLLED_CHANGES = Metric(
    "rebalance_agent_polled_changes_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Changes seen between polls of a group whose records may not be read: fewer than its rebalances.",
    _GROUP,
)

GROUP_ROWS: tuple[Metric, ...] = (
    INFO,
    STATE,
    GENERATION,
    MEMBERS,
    STATIC_MEMBERS,
    IDLE_MEMBERS,
    COMPLETED,
    FOLLOWUPS,
    FAILED,
    NOOP,
    POLLED_CHANGES,
    STALL,
    LAST_JOIN,
    LAST_SYNC,
    LAST_RECONCILE,
    LAST_COMPLETED,
    IN_PROGRESS,
    TIMEOUT,
    STALLED_PARTITION_SECONDS,
    PARTITION_SECONDS,
    PARTITIONS,
    UNASSIGNED,
    REVOKED,
    ASSIGNED,
    LOST,
    MOVED,
    MOVED_EXCESS,
    SKEW,
    IMBALANCE,
    TOPIC_SPREAD,
    COPARTITION_BREAKS,
    OWNER_PARTITIONS,
    OWNER_MEMBERS,
    ROLLOUT,
    FLAPPING,
    SLOWEST_MEMBER,
    METADATA_BYTES,
)
"""In the order of the page and of the documentation."""
