"""Converts Spark rows to plain values, and defines the column for cost, for the queries of a report."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import TimestampType

__all__ = ["collected", "total_cost"]


def collected(frame: DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield these columns of each row. Times become datetimes in UTC, because PySpark's datetimes have no time zone."""
    times = {name for name in columns if isinstance(frame.schema[name].dataType, TimestampType)}
    plain = frame.select(*(F.unix_millis(name).alias(name) if name in times else name for name in columns))
    for row in plain.collect():
        yield tuple(
            dt.datetime.fromtimestamp(value / 1000, dt.UTC) if name in times and value is not None else value
            for name, value in zip(columns, row, strict=True)
        )


def total_cost() -> Column:
    """Return the sum of stalled partition-seconds under the name of that column; 0 if no stall is known."""
    return F.coalesce(F.sum("stalled_partition_seconds"), F.lit(0.0)).alias("stalled_partition_seconds")
