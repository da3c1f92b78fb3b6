"""Columns that all of a report's rows are read with: when it was, and what it cost."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all the world calls it

__all__ = ["epoch_ms", "moment", "total_cost"]


def epoch_ms(column: str) -> Column:
    """The time under its own name. Times travel as numbers: Python's own have no zone there."""
    return F.unix_millis(column).alias(column)


def moment(at_ms: int) -> dt.datetime:
    """A time that travelled so, in UTC."""
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)


def total_cost() -> Column:
    """What the rebalances cost together, in stalled partition-seconds; 0 where that is not known of any."""
    return F.coalesce(F.sum("stalled_partition_seconds"), F.lit(0.0))
