"""The panels on the group's lag."""

from __future__ import annotations

from dashboards.group.queries import of
from dashboards.parts import colours
from dashboards.parts.panel import Panel, above

__all__ = ["UNREAD"]

UNREAD = Panel(
    25,
    "How long records wait",
    "For how long do records wait? **without members**: how long the group has been Empty. **lag**: age of the "
    "oldest unread record (in share groups: the oldest record that is neither acknowledged nor archived), for the "
    "group and its worst topics. **no progress**: longest time that the committed offset of a partition with an owner "
    "has not moved although records arrived. **catch-up**: longest time that a moved partition needed to reach the "
    "records of the time of its move, in the current or the last catch-up. Only groups in lag_groups have lag, no "
    "progress and catch-up; share groups have only lag.",
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
