"""Rows of member metrics, which a consumer process measures and its sidecar exports. ``sum`` aggregates them."""

from __future__ import annotations

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.metrics.phase_rows import JOIN_BUCKETS, SYNC_BUCKETS
from rebalance_agent.model.events import Callback
from rebalance_agent.tracking.views import STALL_BUCKETS

__all__ = [
    "ASSIGNED",
    "ASSIGN_FAILURES",
    "ASSIGN_SECONDS",
    "CALLBACK_SECONDS",
    "GENERATION",
    "JOIN",
    "LOST",
    "MEMBER_ROWS",
    "MISSING_STANDBYS",
    "PARTITIONS",
    "REJECTED_COMMITS",
    "REPROCESSED",
    "REVOKED",
    "SKEW",
    "STALL",
    "STOP",
    "SYNC",
    "USER_DATA_ERRORS",
]

CALLBACK_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 15.0, 30.0, 60.0, 300.0)
"""Upper bounds in seconds: from a callback that only logs to a callback of ``max.poll.interval.ms`` (5 min)."""

ASSIGN_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds in seconds: from a small group to a group whose leader exceeds its own session timeout."""

_CLIENT = ("consumergroup", "client_id")


def _row(
    name: str,
    kind: MetricType,
    text: str,
    unit: str,
    labels: tuple[str, ...] = _CLIENT,
    buckets: tuple[float, ...] = (),
) -> Metric:
    return Metric(f"kafka_rebalance_member_{name}", kind, ExporterRole.SIDECAR, text, labels, unit, buckets=buckets)


CALLBACK_SECONDS = Metric(
    "kafka_rebalance_member_callback_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.SIDECAR,
    "Duration of the application's rebalance callbacks. Absent if only a gateway reports the member.",
    ("consumergroup", "callback"),
    "seconds",
    {"callback": (Callback.REVOKED, Callback.ASSIGNED, Callback.LOST)},
    CALLBACK_BUCKETS,
)
STALL = _row(
    "stall_seconds",
    MetricType.HISTOGRAM,
    "Time from the start of a member's revoked or lost callback to the end of the member's next assigned callback.",
    "seconds",
    ("consumergroup",),
    STALL_BUCKETS,
)
JOIN = _row(
    "join_seconds",
    MetricType.HISTOGRAM,
    "A member's wait for the response to JoinGroup, which includes the wait for the slowest member.",
    "seconds",
    ("consumergroup",),
    JOIN_BUCKETS,
)
SYNC = _row(
    "sync_seconds",
    MetricType.HISTOGRAM,
    "A member's time between the responses to JoinGroup and SyncGroup: the leader's assign() and the network time.",
    "seconds",
    ("consumergroup",),
    SYNC_BUCKETS,
)
STOP = _row(
    "stop_seconds",
    MetricType.HISTOGRAM,
    "Time from the response that notifies a member of the rebalance to the member's JoinGroup, measured by a gateway: "
    "how long the member took to stop.",
    "seconds",
    ("consumergroup",),
    JOIN_BUCKETS,
)
ASSIGN_SECONDS = _row(
    "assign_seconds",
    MetricType.HISTOGRAM,
    "Duration of assign() calls in the group's leader.",
    "seconds",
    ("consumergroup", "assignor"),
    ASSIGN_BUCKETS,
)
ASSIGN_FAILURES = _row(
    "assign_failures_total",
    MetricType.COUNTER,
    "assign() calls that raised an exception.",
    "calls",
    ("consumergroup", "assignor"),
)
USER_DATA_ERRORS = _row(
    "user_data_errors_total",
    MetricType.COUNTER,
    "Members whose user data could not be decoded or encoded, or was missing although the failover strategy needs it. "
    "Such a member counts once in each assign() call.",
    "members",
    ("consumergroup", "assignor"),
)
GENERATION = _row("generation", MetricType.GAUGE, "Last generation of the member.", "")
PARTITIONS = _row("partitions", MetricType.GAUGE, "Partitions that members with these labels own.", "partitions")
REVOKED = _row("revoked_total", MetricType.COUNTER, "Partitions that were passed to revoked callbacks.", "partitions")
ASSIGNED = _row(
    "assigned_total", MetricType.COUNTER, "Partitions that were passed to assigned callbacks.", "partitions"
)
LOST = _row("lost_total", MetricType.COUNTER, "Partitions that were passed to lost callbacks.", "partitions")
REPROCESSED = _row(
    "reprocessed_records_total",
    MetricType.COUNTER,
    "Records consumed twice because of a rebalance: records that were read but not committed when their partition was "
    "revoked, and records read again after an offset reset. Absent if the client cannot provide its position.",
    "records",
)
REJECTED_COMMITS = _row(
    "rejected_commits_total",
    MetricType.COUNTER,
    "Partitions whose commits the coordinator rejected because of a rebalance. Absent if no gateway reports the "
    "member.",
    "partitions",
)
SKEW = _row(
    "assignment_skew_ratio",
    MetricType.GAUGE,
    "Skew of the last assignment that this member computed as leader: the highest load divided by the promised load; 1 "
    "is best.",
    "ratio",
)
MISSING_STANDBYS = _row(
    "missing_standbys",
    MetricType.GAUGE,
    "Standby copies that no member received in the last assignment that this member computed as leader; 0 is best.",
    "copies",
)

MEMBER_ROWS: tuple[Metric, ...] = (
    CALLBACK_SECONDS,
    STALL,
    STOP,
    JOIN,
    SYNC,
    ASSIGN_SECONDS,
    ASSIGN_FAILURES,
    USER_DATA_ERRORS,
    GENERATION,
    PARTITIONS,
    REVOKED,
    ASSIGNED,
    LOST,
    REPROCESSED,
    REJECTED_COMMITS,
    SKEW,
    MISSING_STANDBYS,
)
"""In the order of /metrics and of the documentation."""
