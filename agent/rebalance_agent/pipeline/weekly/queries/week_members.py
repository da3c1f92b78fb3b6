"""Reads facts of a week about single members: flapping members, and groups that a member brings near a limit."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.report.queries.report_columns import collected
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.weekly.queries.two_weeks import is_in, of_two_weeks
from rebalance_agent.pipeline.weekly.weekly_rows import (
    FLAPPERS_MAX,
    SKEW_NEAR,
    TIMEOUT_NEAR,
    FlapperRow,
    SkewRow,
    TimeoutRow,
)
from rebalance_agent.pipeline.weekly.weeks import Week

__all__ = ["flapper_rows", "skew_rows", "timeout_rows"]


def flapper_rows(group_hours: DataFrame, week: Week) -> tuple[FlapperRow, ...]:
    """Return the members that flapped in one of the weeks, with the number of these hours in each week."""
    hours = of_two_weeks(group_hours, week, "hour").select(*GROUP, "this", F.explode("flapping").alias("name"))
    rows = (
        hours.groupBy(*GROUP, "name")
        .agg(F.count_if("this").alias("hours"), F.count_if(~F.col("this")).alias("hours_before"))
        .orderBy(F.desc("hours"), *GROUP, "name")
        .limit(FLAPPERS_MAX)
    )
    return tuple(FlapperRow(*row) for row in collected(rows, *GROUP, "name", "hours", "hours_before"))


def skew_rows(group_hours: DataFrame, week: Week) -> tuple[SkewRow, ...]:
    """Return the groups with a skew above `SKEW_NEAR` in an hour of the week, the most skewed groups first."""
    rows = (
        group_hours.where(is_in(week, "hour") & (F.col("skew_max") > SKEW_NEAR))
        .groupBy(*GROUP)
        .agg(F.max("skew_max").alias("skew_max"), F.count("*").alias("hours"))
        .orderBy(F.desc("skew_max"), *GROUP)
    )
    return tuple(SkewRow(*row) for row in collected(rows, *GROUP, "skew_max", "hours"))


def timeout_rows(episodes: DataFrame, members: DataFrame, week: Week) -> tuple[TimeoutRow, ...]:
    """Return the groups that waited for a member at least `TIMEOUT_NEAR` of the rebalance timeout, longest first.

    The coordinator uses the longest rebalance timeout of a group's members. A member that the coordinator removed is
    not in the generation, so its timeout is assumed to be that of the other members.
    """
    waits = episodes.where(is_in(week, "completed_at") & (F.col("slowest_lower_seconds") > 0))
    timeouts = members.groupBy("event_id").agg((F.max("rebalance_timeout_ms") / 1000).alias("timeout_seconds"))
    near = (
        waits.join(timeouts, "event_id")
        .withColumn("share", F.col("slowest_lower_seconds") / F.col("timeout_seconds"))
        .where(F.col("share") >= TIMEOUT_NEAR)
    )
    longest = F.struct("share", "slowest_lower_seconds", "timeout_seconds", "slowest_client_id")
    rows = (
        near.groupBy(*GROUP)
        .agg(F.max(longest).alias("longest"), F.count("*").alias("rebalances"))
        .select(*GROUP, "longest.*", "rebalances")
        .orderBy(F.desc("share"), *GROUP)
    )
    names = ("slowest_lower_seconds", "timeout_seconds", "rebalances", "slowest_client_id")
    return tuple(TimeoutRow(*row) for row in collected(rows, *GROUP, *names))
