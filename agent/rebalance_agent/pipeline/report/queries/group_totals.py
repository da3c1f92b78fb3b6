"""Reads one row for each group from the tables: its totals over the report's time, and its recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.given_advice import AdviceKind
from rebalance_agent.pipeline.report.queries.report_columns import total_cost
from rebalance_agent.pipeline.report.report_rows import GROUPS_MAX, GroupKey, GroupRow
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["group_rows"]


def group_rows(episodes: DataFrame, tables: DeltaTables, periods_in_all: int) -> tuple[tuple[GroupRow, ...], int]:
    """Return the groups, the most expensive first, and their total number.

    ``episodes``: closed episodes with their ``period``, a number below ``periods_in_all``.
    """
    summed = _summed(episodes, tables)
    worst = summed.orderBy(F.desc("stalled_partition_seconds"), *GROUP).limit(GROUPS_MAX).collect()
    costs = _costs(episodes, worst, periods_in_all)
    rows = tuple(GroupRow(**row.asDict(), costs=tuple(costs[row.cluster_id, row.group])) for row in worst)
    return rows, summed.count()


def _summed(episodes: DataFrame, tables: DeltaTables) -> DataFrame:
    """Return a row for each group, joined from its generations, its hours and its recommendation.

    Its columns are the fields of `GroupRow` except ``costs``.
    """
    when = F.struct("completed_at", "generation")
    peopled = F.when(F.col("member_count") > 0, when)
    members, partitions = F.col("member_count").alias("members"), F.col("partition_count").alias("partitions")
    last = F.struct("group_type", "protocol", "assignor", members, partitions)
    sums = episodes.groupBy(*GROUP).agg(
        F.count("*").alias("rebalances"),
        total_cost(),
        F.percentile_approx("stall_seconds", 0.95).alias("stall_p95"),
        F.max("skew_ratio").alias("skew_max"),
        F.mode("trigger", deterministic=True).alias("trigger"),
        F.coalesce(F.max_by(last, peopled), F.max_by(last, when)).alias("last"),
        F.max_by("flapping", when).alias("flapping"),
    )
    hours = tables.read("group_hours").groupBy(*GROUP).agg(F.sum("partition_seconds").alias("partition_seconds"))
    joined = sums.join(hours, [*GROUP], "left").join(_advice(tables), [*GROUP], "left")
    return joined.select("*", "last.*").drop("last")


def _advice(tables: DeltaTables) -> DataFrame:
    """Return a row for each group with advice; savings are comparable with the recorded lower bounds of stalls.

    If the model predicts more stall than these lower bounds, for example if bounds are wide, savings are reduced by
    that ratio. A withheld change is not recommended; the sentence then contains the reason.
    """
    recorded, modelled = F.col("recorded_stalled_partition_seconds"), F.col("modelled_stalled_partition_seconds")
    scale = F.max(F.when(modelled > recorded, recorded / modelled)).alias("scale")
    replayed = tables.read("whatif").groupBy(*GROUP).agg(scale)
    withheld = (
        tables.read("advice")
        .where(F.col("state") == AdviceState.WITHHELD.value)
        .groupBy(*GROUP)
        .agg(F.collect_set("kind").alias("kinds"), F.min("reason").alias("reason"))
    )

    def given(kind: AdviceKind) -> Column:
        return ~F.coalesce(F.array_contains("kinds", kind.value), F.lit(False))

    saved = F.col("saved_partition_seconds") * F.coalesce("scale", F.lit(1.0))
    refusal = F.concat(F.lit("A change is no longer recommended: "), "reason", F.lit("."))
    return (
        tables.read("recommendations")
        .join(replayed, [*GROUP], "left")
        .join(withheld, [*GROUP], "left")
        .select(
            *GROUP,
            F.when(given(AdviceKind.STRATEGY), F.col("strategy")).alias("recommended"),
            (F.col("static_membership") & given(AdviceKind.STATIC_MEMBERSHIP)).alias("static_membership"),
            F.when(F.col("kinds").isNull(), saved).alias("saved_partition_seconds"),
            F.coalesce(refusal, "sentence").alias("sentence"),
        )
    )


def _costs(episodes: DataFrame, groups: Sequence[Row], periods_in_all: int) -> Mapping[GroupKey, list[float]]:
    """Return the stalled partition-seconds of each of these groups in each period."""
    costs = {(row.cluster_id, row.group): [0.0] * periods_in_all for row in groups}
    for cluster_id, group, period, cost in episodes.groupBy(*GROUP, "period").agg(total_cost()).toLocalIterator():
        if mine := costs.get((cluster_id, group)):
            mine[period] = cost
    return costs
