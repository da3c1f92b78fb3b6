"""Lag of the group."""

from __future__ import annotations

from dashboards.group.queries import of
from dashboards.parts import colours
from dashboards.parts.panel import Panel, above

__all__ = ["UNREAD"]

UNREAD = Panel(
    25,
    "How long records wait",
    "For how long has the group had no members, and have records waited? without members: age of an Empty group. lag: "
    "age of the oldest record to read, for the group and its worst topics; no progress: longest time that a committed "
    "offset (of a partition with an owner) did not move although records arrived; catch-up: longest time that a moved "
    "partition was catching up, in the current or the last catch-up. The last three are for groups in lag_groups.",
    (
        of("kafka_rebalance_group_empty_seconds", "without members"),
        of("kafka_rebalance_group_lag_seconds", "lag"),
        of("kafka_rebalance_topic_lag_seconds", "lag, {{topic}}", "topic"),
        of("kafka_rebalance_stuck_partition_seconds", "no progress"),
        of("kafka_rebalance_catch_up_seconds", "catch-up"),
    ),
    unit="s",
    width=24,
    thresholds=above(60, 300),
    empty="unknown",
    colours=colours.WAITS,
)
