"""Computes tables `changes`, `cluster_changes` and `slow_members` from the other tables, in Arrow batches by group.

Each group gives *candidates*: its improbable changes, and the number of tests in the group. The tests of all groups
determine which candidates become rows of a table (`false_discoveries`), so the candidates are computed once and then
stored.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.changes.candidates import (
    CHANGE_CANDIDATES,
    CLUSTER_CANDIDATES,
    HOURS,
    SLOW_CANDIDATES,
    SUMS,
    cluster_rows,
    group_rows,
    hour_rows,
    slow_rows,
)
from rebalance_agent.pipeline.changes.false_discoveries import FALSE_SHARE, highest_chance
from rebalance_agent.pipeline.changes.group_signals import HOUR_MS
from rebalance_agent.pipeline.table_schema import GROUP, Table
from rebalance_agent.pipeline.tables.generation_spans import cluster_ends

__all__ = [
    "GROUPS_MIN",
    "WEEKS",
    "change_candidates",
    "cluster_candidates",
    "discovered",
    "rebalances_of_groups",
    "slow_candidates",
]

WEEKS = 8
"""Weeks at the end of a cluster's history that are searched for changes."""

SLOW_DAYS = 7
"""The part at the end of a cluster's history in which members are compared."""

GROUPS_MIN = 5
"""Minimum number of groups for which a cluster's sums over all groups are searched for changes."""


def rebalances_of_groups(generations: DataFrame, group_hours: DataFrame, events: DataFrame) -> DataFrame:
    """Return each group's rebalances in the cluster's last `WEEKS`, with the group's first and last hour."""
    hour = F.floor(F.unix_millis("hour") / HOUR_MS)
    last = F.floor(F.col("end") / HOUR_MS)
    spans = (
        group_hours.groupBy(*GROUP)
        .agg(F.min(hour).alias("first"), F.max(hour).alias("last"))
        .join(F.broadcast(cluster_ends(events)), "cluster_id")
        .withColumns({"first": F.greatest("first", last - WEEKS * 168), "last": F.least("last", last)})
        .drop("end")
    )
    images = events.where(F.col("kind") == RolloutEvent.KIND).select(
        F.col("event_id").alias("rollout"),
        F.array_join(F.from_json("body", "to_images ARRAY<STRING>")["to_images"], ", ").alias("images"),
    )
    return (
        generations.where("closes_episode AND member_count > 0")
        .select(
            *GROUP,
            F.unix_millis("completed_at").alias("at_ms"),
            *("generation", "trigger", "stall_seconds", "skew_ratio", "protocol", "assignor"),
            *("member_count", "partition_count", "rollout"),
        )
        .join(spans, [*GROUP])
        .where((F.col("at_ms") >= F.col("first") * HOUR_MS) & (F.col("at_ms") < (F.col("last") + 1) * HOUR_MS))
        .join(images, "rollout", "left")
    )


def change_candidates(rebalances: DataFrame) -> DataFrame:
    """Return the candidates of table ``changes`` for rows of `rebalances_of_groups`."""
    return rebalances.groupBy(*GROUP).applyInPandas(group_rows, CHANGE_CANDIDATES)


def cluster_candidates(rebalances: DataFrame) -> DataFrame:
    """Return the candidates of table ``cluster_changes``: changes in the sums over all groups of a cluster."""
    many = (
        rebalances.groupBy("cluster_id")
        .agg(F.count_distinct("group").alias("groups"))
        .where(F.col("groups") >= GROUPS_MIN)
        .select("cluster_id")
    )
    by_group = rebalances.join(many, "cluster_id").groupBy(*GROUP).applyInPandas(hour_rows, HOURS)
    by_hour = by_group.groupBy("cluster_id", "hour").agg(
        F.min("first").alias("first"), F.max("last").alias("last"), *(F.sum(name).alias(name) for name in SUMS)
    )
    return by_hour.groupBy("cluster_id").applyInPandas(cluster_rows, CLUSTER_CANDIDATES)


def slow_candidates(members: DataFrame, events: DataFrame) -> DataFrame:
    """Return the candidates of table ``slow_members`` for rows of tables ``members`` and ``events``."""
    recent = (
        members.where("stop_seconds IS NOT NULL")
        .select(
            *GROUP,
            *("event_id", "generation", "member_id", "client_id", "instance_id", "pod", "stop_seconds"),
            F.unix_millis("completed_at").alias("at_ms"),
        )
        .join(F.broadcast(cluster_ends(events)), "cluster_id")
        .where(F.col("at_ms").between(F.col("end") - SLOW_DAYS * 24 * HOUR_MS, F.col("end")))
        .drop("end")
    )
    return recent.groupBy(*GROUP).applyInPandas(slow_rows, SLOW_CANDIDATES)


def discovered(candidates: DataFrame, table: Table) -> DataFrame:
    """Return the rows of ``table``: the candidates that remain if at most `FALSE_SHARE` of them may be false."""
    improbable = F.when(F.col("chance") <= FALSE_SHARE, F.col("chance"))
    row = candidates.agg(F.coalesce(F.sum("tests"), F.lit(0)), F.collect_list(improbable)).first()
    tests, chances = row or (0, [])
    rows = candidates.where(F.col("chance") <= highest_chance(chances, tests, FALSE_SHARE))
    for name in ("changed", "rollout", "last"):
        if f"{name}_ms" in rows.columns:
            rows = rows.withColumn(f"{name}_at", F.timestamp_millis(f"{name}_ms"))
    if "beside" in rows.columns:
        rows = rows.withColumn("beside", F.from_json("beside", "MAP<STRING, STRING>"))
    return rows.select(*table.schema.names)
