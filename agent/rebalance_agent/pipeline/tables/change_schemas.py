"""Defines the tables of changes in groups and clusters, and the table of slow members."""

from __future__ import annotations

from pyspark.sql.types import BooleanType, DoubleType, LongType, MapType, StringType, TimestampType

from rebalance_agent.pipeline.table_schema import Table, columns

__all__ = ["CHANGES", "CLUSTER_CHANGES", "SLOW_MEMBERS"]

_TEXT, _LONG, _DOUBLE, _FLAG, _TIME = StringType(), LongType(), DoubleType(), BooleanType(), TimestampType()

_CHANGE = (
    (_TEXT, "signal"),
    (_TIME, "changed_at"),
    (_DOUBLE, "level_before level_after ratio chance"),
    (_FLAG, "recovery"),
    (_TEXT, "sentence"),
)

CHANGES = Table(
    "changes",
    columns(
        ((_TEXT, "cluster_id group"), *_CHANGE, (MapType(_TEXT, _TEXT), "beside")),
        ((_TEXT, "rollout"), (_TIME, "rollout_at")),
    ),
    keys=("cluster_id", "group", "signal", "changed_at"),
)
"""A time at which a group's stall (seconds), frequency (per day) or skew changed, and what changed at the same time.

``chance``: the probability (0 to 1) of such a change without a cause. ``rollout``: the event id of a deploy.
"""

CLUSTER_CHANGES = Table(
    "cluster_changes", columns(((_TEXT, "cluster_id"), *_CHANGE)), keys=("cluster_id", "signal", "changed_at")
)
"""A time at which a signal changed in the sums over all groups of a cluster."""

SLOW_MEMBERS = Table(
    "slow_members",
    columns(
        (
            (_TEXT, "cluster_id group member"),
            (_LONG, "rebalances"),
            (_DOUBLE, "stop_seconds"),
            (_LONG, "peers"),
            (_DOUBLE, "peers_stop_seconds deviations chance"),
            (_TIME, "last_at"),
        ),
    ),
    keys=("cluster_id", "group", "member"),
)
"""A member that stops more slowly than its ``peers``; times are medians in seconds."""
