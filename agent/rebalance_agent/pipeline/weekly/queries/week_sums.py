"""Reads sums of both weeks from the tables: stalls and rebalances by group, deploys by group, stalls by day."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.report.queries.report_columns import total_cost
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.weekly.queries.two_weeks import of_two_weeks, span_of
from rebalance_agent.pipeline.weekly.weeks import Week

__all__ = ["day_costs", "deploy_sums", "hour_sums"]

_DAY_MS = 86_400_000


def hour_sums(group_hours: DataFrame, week: Week) -> DataFrame:
    """Return a row for each group with hours in one of the weeks: the fields of `WeekTotals` for each week."""
    names = ("stalled_partition_seconds", "partition_seconds", "rebalances")
    hours = of_two_weeks(group_hours, week, "hour")
    return hours.groupBy(*GROUP).agg(*_weeks_apart(*names))


def deploy_sums(episodes: DataFrame, week: Week) -> DataFrame:
    """Return a row for each group with a deploy whose rebalances completed in one of the weeks.

    ``costliest_deploy_at``: start of this week's deploy with the most stall; of equal deploys, the first.
    """
    deploys = (
        of_two_weeks(episodes, week, "completed_at")
        .where("rollout IS NOT NULL")
        .groupBy(*GROUP, "this", "rollout")
        .agg(
            F.min(F.coalesce("started_at", "completed_at")).alias("started_at"),
            F.count("*").alias("rebalances"),
            total_cost(),
        )
    )
    order = F.when(F.col("this"), F.struct("stalled_partition_seconds", -F.unix_millis("started_at")))
    return (
        deploys.withColumns(
            {
                "deploys": F.lit(1),
                "deploy_rebalances": F.col("rebalances"),
                "deploy_stalled_partition_seconds": F.col("stalled_partition_seconds"),
            }
        )
        .groupBy(*GROUP)
        .agg(
            F.max_by("started_at", order).alias("costliest_deploy_at"),
            *_weeks_apart("deploys", "deploy_rebalances", "deploy_stalled_partition_seconds"),
        )
    )


def day_costs(group_hours: DataFrame, week: Week) -> tuple[float, ...]:
    """Return the stalled partition-seconds of the fourteen days, beginning with the week before."""
    begin = span_of(week.before).begin
    number = F.floor((F.unix_millis("hour") - begin) / _DAY_MS).alias("day")
    rows = of_two_weeks(group_hours, week, "hour").groupBy(number).agg(total_cost()).collect()
    costs = {row.day: row.stalled_partition_seconds for row in rows}
    return tuple(costs.get(number, 0.0) for number in range(14))


def _weeks_apart(*names: str) -> Iterator[Column]:
    """Yield each column's sum over the rows of this week, and its sum over the week before (``..._before``)."""
    for name in names:
        yield F.sum(F.when(F.col("this"), F.col(name))).alias(name)
        yield F.sum(F.when(~F.col("this"), F.col(name))).alias(f"{name}_before")
