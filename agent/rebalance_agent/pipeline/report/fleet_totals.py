"""Reads the cost of rebalances in all groups: by period and trigger, by hour of the week, by storm and by deploy."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.report.report_columns import epoch_ms, moment, total_cost
from rebalance_agent.pipeline.report.report_rows import CostRow, DeployRow, StormRow, WeekRow
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import GROUP

__all__ = ["DEPLOYS_MAX", "STORMS_MAX", "cost_rows", "deploy_rows", "storm_rows", "week_rows"]

DEPLOYS_MAX = 2_000
"""Maximum number of deploys in a report; the most expensive are kept."""

STORMS_MAX = 5_000
"""Maximum number of storm hours in a report; the latest are kept."""


def cost_rows(episodes: DataFrame) -> tuple[CostRow, ...]:
    """Return a row for each period and trigger; ``episodes``: closed episodes with their ``period``."""
    rows = (
        episodes.groupBy("period", "trigger")
        .agg(F.count("*").alias("rebalances"), total_cost().alias("cost"))
        .collect()
    )
    return tuple(CostRow(*each) for each in sorted(rows))


def week_rows(episodes: DataFrame) -> tuple[WeekRow, ...]:
    """Return a row for each hour of the week with a rebalance."""
    hour = (F.weekday("completed_at") * 24 + F.hour("completed_at")).alias("hour_of_week")
    rows = episodes.groupBy(hour).agg(F.count("*").alias("rebalances"), total_cost().alias("cost")).collect()
    return tuple(WeekRow(*each) for each in sorted(rows))


def storm_rows(tables: DeltaTables) -> tuple[StormRow, ...]:
    """Return the hours in which storms began, the latest first."""
    rows = (
        tables.read("group_hours")
        .where("storms > 0")
        .orderBy(F.desc("hour"), *GROUP)
        .limit(STORMS_MAX)
        .select(*GROUP, epoch_ms("hour"), "rebalances")
        .collect()
    )
    return tuple(StormRow(each[0], each[1], moment(each[2]), each[3]) for each in rows)


def deploy_rows(episodes: DataFrame) -> tuple[tuple[DeployRow, ...], int]:
    """Return the deploys, the most expensive first, and their total number."""
    deploys = (
        episodes.where("rollout IS NOT NULL")
        .groupBy(*GROUP, "rollout")
        .agg(
            F.unix_millis(F.min(F.coalesce("started_at", "completed_at"))),
            F.unix_millis(F.max("completed_at")),
            F.count("*"),
            total_cost().alias("cost"),
            F.max("stall_seconds"),
        )
        .persist()
    )
    try:
        rows = deploys.orderBy(F.desc("cost"), "rollout").limit(DEPLOYS_MAX).collect()
        number = deploys.count()
    finally:
        deploys.unpersist()
    return tuple(DeployRow(each[0], each[1], moment(each[3]), moment(each[4]), *each[5:]) for each in rows), number
