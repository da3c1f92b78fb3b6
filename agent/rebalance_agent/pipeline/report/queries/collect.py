"""Reads a report's data from the tables. Spark aggregates the rows, so the result fits into memory."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_sums import sums_by_state
from rebalance_agent.pipeline.report.periods import periods
from rebalance_agent.pipeline.report.queries.detail_rows import detail_rows
from rebalance_agent.pipeline.report.queries.fleet_totals import cost_rows, deploy_rows, storm_rows, week_rows
from rebalance_agent.pipeline.report.queries.followed_advice import followed_advice
from rebalance_agent.pipeline.report.queries.group_totals import group_rows
from rebalance_agent.pipeline.report.queries.report_columns import collected
from rebalance_agent.pipeline.report.report_rows import DETAILS_MAX, ReportData
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["collect"]


def collect(tables: DeltaTables, made_at: dt.datetime, *, details: int = DETAILS_MAX) -> ReportData:
    """Return the data of the whole report; ``details``: the number of groups with charts of their own.

    Generations after ``made_at`` are left out: one event with a wrong time must not prolong the report by years.

    Raises:
        PipelineError: the table ``generations`` has no closed episode.
    """
    generations = tables.read("generations").where(F.col("completed_at") <= F.lit(made_at))
    episodes = generations.where("closes_episode")
    since, until, period_s = periods(*_span(episodes))
    period = F.floor((F.unix_timestamp("completed_at") - int(since.timestamp())) / period_s).cast("int")
    by_period = episodes.withColumn("period", period)
    groups, groups_in_all = group_rows(by_period, tables, int((until - since).total_seconds()) // period_s)
    deploys, deploys_in_all = deploy_rows(episodes)
    return ReportData(
        since=since,
        until=until,
        period_seconds=period_s,
        groups=groups,
        costs=cost_rows(by_period),
        week=week_rows(episodes),
        storms=storm_rows(tables, made_at),
        deploys=deploys,
        details=detail_rows(tables, generations, [row.key for row in groups[:details]]),
        groups_in_all=groups_in_all,
        deploys_in_all=deploys_in_all,
        taken=sums_by_state(followed_advice(tables.read("advice")))[AdviceState.TAKEN],
        made_at=made_at,
    )


def _span(episodes: DataFrame) -> tuple[dt.datetime, dt.datetime]:
    """Return when the first and the last episode completed, in UTC."""
    span = episodes.agg(F.min("completed_at").alias("first"), F.max("completed_at").alias("last"))
    ((first, last),) = collected(span, "first", "last")
    if first is None:
        raise PipelineError("there are no generations to report; run `rebalance-agent pipeline aggregate` first")
    return first, last
