"""Restricts tables to a week and the week before, with Spark columns."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.weekly.weeks import Week

__all__ = ["WeekSpan", "is_in", "of_two_weeks", "span_of"]


class WeekSpan(NamedTuple):
    """A week in epoch milliseconds: the start of the week and the start of the next week."""

    begin: int
    end: int


def span_of(week: Week) -> WeekSpan:
    """Return a week as epoch milliseconds."""
    return WeekSpan(*(int(at.timestamp()) * 1000 for at in (week.start, week.end)))


def is_in(week: Week, time: str) -> Column:
    """Return whether the timestamp in column ``time`` is in the week."""
    span = span_of(week)
    return (F.col(time) >= F.timestamp_millis(F.lit(span.begin))) & (F.col(time) < F.timestamp_millis(F.lit(span.end)))


def of_two_weeks(frame: DataFrame, week: Week, time: str) -> DataFrame:
    """Return the rows of the week and of the week before; column ``this`` shows whether a row belongs to the week."""
    return frame.where(is_in(week, time) | is_in(week.before, time)).withColumn("this", is_in(week, time))
