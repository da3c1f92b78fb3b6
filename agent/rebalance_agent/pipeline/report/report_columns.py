"""Spark columns that all queries of a report use: times and costs."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

__all__ = ["epoch_ms", "moment", "total_cost"]


def epoch_ms(column: str) -> Column:
    """Return a timestamp column as epoch milliseconds; PySpark's own datetimes have no time zone."""
    return F.unix_millis(column).alias(column)


def moment(at_ms: int) -> dt.datetime:
    """Return the datetime (UTC) of epoch milliseconds."""
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)


def total_cost() -> Column:
    """Return the sum of stalled partition-seconds; 0 if none is known."""
    return F.coalesce(F.sum("stalled_partition_seconds"), F.lit(0.0))
