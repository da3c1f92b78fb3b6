"""Computes percentiles as Spark columns with the nearest-rank method; each percentile is an observed value."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

__all__ = ["in_order", "percentile"]


def in_order(values: str) -> Column:
    """Return an aggregate: the group's values in one sorted array, without nulls.

    All percentiles are read from this array. With ``percentile_disc``, each percentile would build and shuffle its own
    map of counted values, even for groups with a single value.
    """
    return F.sort_array(F.collect_list(values))


def percentile(ordered: Column, percent: int) -> Column:
    """Return the smallest ``ordered`` value that at least ``percent`` % of them do not exceed; null without values."""
    return F.get(ordered, F.floor((F.size(ordered) * percent + 99) / 100).cast("int") - 1)
