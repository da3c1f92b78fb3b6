"""Reads the cost of rebalances in all groups: by period and trigger, by hour of the week, by storm and by deploy."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.report.queries.report_columns import collected, total_cost
from rebalance_agent.pipeline.report.report_rows import CostRow, DeployRow, StormRow, WeekRow
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["DEPLOYS_MAX", "STORMS_MAX", "cost_rows", "deploy_rows", "storm_rows", "week_rows"]

DEPLOYS_MAX = 2_000
"""Maximum number of deploys in a report; the most expensive are kept."""

STORMS_MAX = 5_000
"""Maximum number of storm hours in a report; the latest are kept."""


def cost_rows(episodes: DataFrame) -> tuple[CostRow, ...]:
    """Return a row for each period and trigger; ``episodes``: closed episodes with their ``period``."""
    rows = episodes.groupBy("period", "trigger").agg(F.count("*"), total_cost()).collect()
    return tuple(CostRow(*row) for row in sorted(rows))


def week_rows(episodes: DataFrame) -> tuple[WeekRow, ...]:
    """Return a row for each hour of the week with a rebalance."""
    hour = F.weekday("completed_at") * 24 + F.hour("completed_at")
    rows = episodes.groupBy(hour).agg(F.count("*"), total_cost()).collect()
    return tuple(WeekRow(*row) for row in sorted(rows))


def storm_rows(tables: DeltaTables, until: dt.datetime) -> tuple[StormRow, ...]:
    """Return the hours in which storms began, up to ``until``, the latest first."""
    hours = tables.read("group_hours").where((F.col("storms") > 0) & (F.col("hour") <= F.lit(until)))
    storms = hours.orderBy(F.desc("hour"), *GROUP).limit(STORMS_MAX)
    return tuple(StormRow(*row) for row in collected(storms, *GROUP, "hour", "rebalances"))


def deploy_rows(episodes: DataFrame) -> tuple[tuple[DeployRow, ...], int]:
    """Return the deploys, the most expensive first, and their total number."""
    deploys = (
        episodes.where("rollout IS NOT NULL")
        .groupBy(*GROUP, "rollout")
        .agg(
            F.min(F.coalesce("started_at", "completed_at")).alias("started_at"),
            F.max("completed_at").alias("ended_at"),
            F.count("*").alias("rebalances"),
            total_cost(),
            F.max("stall_seconds").alias("stall_seconds"),
        )
        .persist()
    )
    try:
        worst = deploys.orderBy(F.desc("stalled_partition_seconds"), "rollout").limit(DEPLOYS_MAX).drop("rollout")
        return tuple(DeployRow(*row) for row in collected(worst, *worst.columns)), deploys.count()
    finally:
        deploys.unpersist()
