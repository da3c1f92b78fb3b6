"""Reads everything that the weekly page needs from the tables; Spark aggregates to one row for each group."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.report.queries.followed_advice import followed_advice
from rebalance_agent.pipeline.report.queries.report_columns import collected
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.weekly.queries.idle_time import idle_sums
from rebalance_agent.pipeline.weekly.queries.week_changes import change_points
from rebalance_agent.pipeline.weekly.queries.week_members import flapper_rows, skew_rows, timeout_rows
from rebalance_agent.pipeline.weekly.queries.week_sums import day_costs, deploy_sums, hour_sums
from rebalance_agent.pipeline.weekly.weekly_rows import GroupWeeks, WeeklyRows, WeekTotals
from rebalance_agent.pipeline.weekly.weeks import Week, last_whole_week
from rebalance_agent.ui.words import minute

__all__ = ["collect_week"]

_HOUR = dt.timedelta(hours=1)
_TOTALS = tuple(field.name for field in dataclasses.fields(WeekTotals))


def collect_week(tables: DeltaTables, week: Week, made_at: dt.datetime) -> WeeklyRows:
    """Return the rows of a week and the week before.

    Raises:
        PipelineError: the tables have no hour of the week; the message names the period that the tables have.
    """
    generations, hours = tables.read("generations"), tables.read("group_hours")
    members, events = tables.read("members"), tables.read("events")
    episodes = generations.where("closes_episode")
    first, end = _known(hours, week)
    sums = (
        hour_sums(hours, week)
        .join(deploy_sums(episodes, week), [*GROUP], "full")
        .join(idle_sums(generations, members, events, week), [*GROUP], "full")
    )
    return WeeklyRows(
        week=week,
        first=first,
        end=end,
        groups=tuple(_groups(sums)),
        days=day_costs(hours, week),
        flappers=flapper_rows(hours, week),
        skews=skew_rows(hours, week),
        timeouts=timeout_rows(episodes, members, week),
        advice=followed_advice(tables.read("advice")),
        changes=change_points(tables.read("changes"), week),
        made_at=made_at,
    )


def _known(hours: DataFrame, week: Week) -> tuple[dt.datetime, dt.datetime]:
    """Return the period for which there are hours: the start of the first hour and the end of the last hour."""
    ((first, last),) = collected(hours.agg(F.min("hour").alias("first"), F.max("hour").alias("last")), "first", "last")
    if first is None:
        raise PipelineError("there are no hours to report; run `rebalance-agent pipeline aggregate` first")
    end = last + _HOUR
    if first >= week.end or end <= week.start:
        whole = last_whole_week(end)
        shown = whole if first < whole.end else Week(whole.end)
        until = (shown.end - dt.timedelta(days=1)).date()
        raise PipelineError(
            f"the tables have no data for week {week.name} ({week.words}): they begin at {minute(first)} and end at "
            f"{minute(end)} UTC; --until {until} reports week {shown.name}"
        )
    return first, end


def _groups(sums: DataFrame) -> Iterator[GroupWeeks]:
    names = [f"{name}{week}" for week in ("", "_before") for name in _TOTALS]
    for cluster_id, group, costliest_at, *values in collected(sums, *GROUP, "costliest_deploy_at", *names):
        row: Mapping[str, Any] = {name: value or 0 for name, value in zip(names, values, strict=True)}
        this = WeekTotals(**{name: row[name] for name in _TOTALS})
        before = WeekTotals(**{name: row[f"{name}_before"] for name in _TOTALS})
        yield GroupWeeks(cluster_id, group, this, before, costliest_at)
