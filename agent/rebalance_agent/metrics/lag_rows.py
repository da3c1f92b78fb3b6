"""Rows of consumer lag, for the groups that ``lag_groups`` names.

Groups and topics have metrics with different names, so that a query cannot add both by mistake. ``topic="_folded"``
stands for the topics beyond ``max_lag_topics``, so the sum over a group's topics is the group's lag.
"""

from __future__ import annotations

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType

__all__ = [
    "CATCHING_UP",
    "CATCH_UP_PARTITION_SECONDS",
    "CATCH_UP_SECONDS",
    "GROUP_LAG_OFFSETS",
    "GROUP_LAG_SECONDS",
    "GROUP_LAG_SERIES",
    "LAG_ROWS",
    "STUCK_SECONDS",
    "TOPIC_LAG_OFFSETS",
    "TOPIC_LAG_SECONDS",
]


def _row(name: str, text: str, unit: str, *labels: str, kind: MetricType = MetricType.GAUGE) -> Metric:
    return Metric(f"kafka_rebalance_{name}", kind, ExporterRole.OBSERVER, text, ("consumergroup", *labels), unit)


GROUP_LAG_OFFSETS = _row(
    "group_lag_offsets",
    "Offsets between committed offsets and end offsets, summed over the partitions of the group that have a commit. In "
    "share groups: records that are neither acknowledged nor archived, as the coordinator counts them.",
    "offsets",
)
GROUP_LAG_SECONDS = _row(
    "group_lag_seconds",
    "Age of the oldest record that the group has not read yet, computed from the growth of the end offsets; 0 without "
    "lag. Absent if there is lag, but no record was produced since the observer's first measurement.",
    "seconds",
)
STUCK_SECONDS = _row(
    "stuck_partition_seconds",
    "Longest time for which the committed offset of a partition with an owner has not moved although records were "
    "appended; 0 if all offsets move.",
    "seconds",
)
CATCHING_UP = _row(
    "catching_up_partitions",
    "Partitions that have a new owner and in which the group has not yet committed all records that existed when the "
    "observer detected this owner.",
    "partitions",
)
CATCH_UP_SECONDS = _row(
    "catch_up_seconds",
    "Longest time for which a partition has been catching up after it changed owner (lower bound), in the current "
    "catch-up or the last one. Absent until partitions have moved.",
    "seconds",
)
CATCH_UP_PARTITION_SECONDS = _row(
    "catch_up_partition_seconds_total",
    "Time for which partitions were catching up after they changed owner (lower bound), summed over partitions.",
    "partition-seconds",
    kind=MetricType.COUNTER,
)
TOPIC_LAG_OFFSETS = _row(
    "topic_lag_offsets",
    "Consumer lag of each of the max_lag_topics topics with the most lag; _folded has the sum of the other topics.",
    "offsets",
    "topic",
)
TOPIC_LAG_SECONDS = _row(
    "topic_lag_seconds",
    "Consumer lag in seconds of each of the max_lag_topics topics with the most lag; _folded has the highest value "
    "of the other topics.",
    "seconds",
    "topic",
)

LAG_ROWS: tuple[Metric, ...] = (
    GROUP_LAG_OFFSETS,
    GROUP_LAG_SECONDS,
    STUCK_SECONDS,
    CATCHING_UP,
    CATCH_UP_SECONDS,
    CATCH_UP_PARTITION_SECONDS,
    TOPIC_LAG_OFFSETS,
    TOPIC_LAG_SECONDS,
)
"""In the order of /metrics and of the documentation."""

GROUP_LAG_SERIES = sum(row.labels == ("consumergroup",) for row in LAG_ROWS)
"""Series of a group with measured lag. Each of its topics, up to ``max_lag_topics``, adds two series, and all other
topics together add two series."""
