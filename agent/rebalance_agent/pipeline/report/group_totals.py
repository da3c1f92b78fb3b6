"""Reads one row for each group from the tables: its totals over the report's time, and its recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.report.report_columns import total_cost
from rebalance_agent.pipeline.report.report_rows import GROUPS_MAX, GroupKey, GroupRow
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import GROUP

__all__ = ["group_rows"]


def group_rows(episodes: DataFrame, tables: DeltaTables, periods_in_all: int) -> tuple[tuple[GroupRow, ...], int]:
    """Return the groups, the most expensive first, and their total number.

    ``episodes``: closed episodes with their ``period``, a number below ``periods_in_all``.
    """
    summed = _summed(episodes, tables)
    worst = summed.orderBy(F.desc("cost"), *GROUP).limit(GROUPS_MAX).collect()
    sparks = _sparks(episodes, worst, periods_in_all)
    return tuple(_group(row, sparks[row.cluster_id, row.group]) for row in worst), summed.count()


def _summed(episodes: DataFrame, tables: DeltaTables) -> DataFrame:
    """Return a row for each group, joined from its generations, its hours and its recommendation."""
    when = F.struct("completed_at", "generation")
    peopled = F.when(F.col("member_count") > 0, when)
    last = F.struct("group_type", "protocol", "assignor", "member_count", "partition_count")
    sums = episodes.groupBy(*GROUP).agg(
        F.count("*").alias("rebalances"),
        total_cost().alias("cost"),
        F.count_if("noop").alias("noops"),
        F.sum("moved").alias("moved"),
        F.coalesce(F.sum("excess"), F.lit(0)).alias("excess"),
        F.percentile_approx("stall_seconds", 0.95).alias("stall_p95"),
        F.max("stall_seconds").alias("stall_max"),
        F.max("skew_ratio").alias("skew_max"),
        F.mode("trigger", deterministic=True).alias("trigger"),
        F.coalesce(F.max_by(last, peopled), F.max_by(last, when)).alias("last"),
        F.max_by("flapping", when).alias("flapping"),
    )
    hours = (
        tables.read("group_hours")
        .groupBy(*GROUP)
        .agg(
            F.sum("aborted").alias("aborted"),
            F.sum("storms").alias("storms"),
            F.sum("partition_seconds").alias("partition_seconds"),
        )
    )
    advice = tables.read("recommendations").select(
        *GROUP, "strategy", "static_membership", "saved_partition_seconds", "saved_moves", "sentence"
    )
    return sums.join(hours, [*GROUP], "left").join(advice, [*GROUP], "left")


def _sparks(episodes: DataFrame, groups: Sequence[Row], periods_in_all: int) -> Mapping[GroupKey, list[float]]:
    """Return the stalled partition-seconds of each of these groups in each period."""
    costs = {(row.cluster_id, row.group): [0.0] * periods_in_all for row in groups}
    for cluster_id, group, period, cost in episodes.groupBy(*GROUP, "period").agg(total_cost()).toLocalIterator():
        if mine := costs.get((cluster_id, group)):
            mine[period] = cost
    return costs


def _group(row: Row, spark: Sequence[float]) -> GroupRow:
    return GroupRow(
        cluster_id=row.cluster_id,
        group=row.group,
        group_type=row.last.group_type,
        protocol=row.last.protocol,
        assignor=row.last.assignor,
        members=row.last.member_count,
        partitions=row.last.partition_count,
        rebalances=row.rebalances,
        stalled_partition_seconds=row.cost,
        noops=row.noops,
        aborted=row.aborted or 0,
        storms=row.storms or 0,
        moved=row.moved or 0,
        moved_excess=row.excess,
        partition_seconds=row.partition_seconds,
        stall_p95=row.stall_p95,
        stall_max=row.stall_max,
        skew_max=row.skew_max,
        trigger=row.trigger,
        flapping=tuple(row.flapping or ()),
        costs=tuple(spark),
        recommended=row.strategy,
        static_membership=bool(row.static_membership),
        saved_partition_seconds=row.saved_partition_seconds,
        saved_moves=row.saved_moves,
        sentence=row.sentence,
    )
