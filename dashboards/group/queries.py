"""Queries and links of the Group board."""

from __future__ import annotations

from dashboards.parts.board import MEMBERS_UID
from dashboards.parts.panel import Link
from dashboards.parts.query import ONE_GROUP, Query, bars_of, gauge

__all__ = [
    "COMPLETED",
    "DEPARTED_TO_MEMBER",
    "GROUP_STALLED",
    "LINE_TO_MEMBER",
    "MOVED",
    "MOVED_EXCESS",
    "RUNNING",
    "SKEW",
    "STALL",
    "STALLED",
    "STALLED_UPPER",
    "STALL_UPPER",
    "TO_MEMBER",
    "WHOLE",
    "counted",
    "of",
]

COMPLETED = "kafka_rebalance_completed_total"
STALLED = "kafka_rebalance_stalled_partition_seconds_total"
STALLED_UPPER = "kafka_rebalance_stalled_partition_seconds_upper_total"
WHOLE = "kafka_rebalance_partition_seconds_total"
STALL = "kafka_rebalance_stall_seconds"
GROUP_STALLED = "kafka_rebalance_group_stalled_seconds_total"
STALL_UPPER = "kafka_rebalance_stall_upper_seconds"
MOVED = "kafka_rebalance_partitions_moved_total"
MOVED_EXCESS = "kafka_rebalance_partitions_moved_excess_total"
SKEW = "kafka_rebalance_assignment_skew_ratio"
RUNNING = gauge("kafka_rebalance_in_progress_seconds", ONE_GROUP)
TO_MEMBER = Link(
    "Open the reports of this member",
    f"/d/{MEMBERS_UID}?var-client_id=${{__data.fields.Client:percentencode}}"
    "&${datasource:queryparam}&${cluster:queryparam}&${consumergroup:queryparam}&${__url_time_range}",
)
DEPARTED_TO_MEMBER = Link(TO_MEMBER.title, TO_MEMBER.url.replace("__data.fields.Client", "__data.fields.Member"))
LINE_TO_MEMBER = Link(TO_MEMBER.title, TO_MEMBER.url.replace("__data.fields.Client", "__field.labels.client_id"))


def of(metric: str, legend: str, *by: str) -> Query:
    """Return the gauge as a line."""
    return Query(gauge(metric, ONE_GROUP, *by), legend)


def counted(metric: str, legend: str, *by: str) -> Query:
    """Return the counter as bars."""
    return Query(bars_of(metric, ONE_GROUP, *by), legend)
