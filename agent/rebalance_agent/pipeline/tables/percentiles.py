"""Percentiles that are values which there were: of n values in order, the n-th part of the way rounded up."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all the world calls it

__all__ = ["in_order", "percentile"]


def in_order(values: str) -> Column:
    """The values of a group in one array, without nulls.

    One list that all percentiles are read from: each ``percentile_disc`` would count the values in a table of its own,
    and Spark moves such tables about for groups of a single value, too.
    """
    return F.sort_array(F.collect_list(values))


def percentile(ordered: Column, percent: int) -> Column:
    """At least ``percent`` percent of the ``ordered`` values are no greater; null of none."""
    return F.get(ordered, F.floor((F.size(ordered) * percent + 99) / 100).cast("int") - 1)
