"""Defines the properties of a table of the pipeline: its columns, its key and its Delta partitioning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import DataType, StructField, StructType

__all__ = ["DRIFT_DAYS", "GROUP", "GROUP_DAY", "Table", "columns"]

GROUP = ("cluster_id", "group")
"""Columns that identify a group."""

GROUP_DAY = (*GROUP, "day")
"""Columns that identify a day of a group."""

DRIFT_DAYS = 1
"""Maximum number of days between the timestamps of an event's revisions: a rollout can end four hours after its first
report."""


@dataclass(frozen=True)
class Table:
    """A Delta table. ``keys``: the columns that identify a row; empty if rows are only appended.

    ``rank``: SQL expressions. If two rows have the same key, a merge keeps the row of higher rank, or the first row if
    ranks are equal; without a rank, the row written last. ``partitioned_by``: Delta's partition columns. In ``day``, a
    row and its replacement are at most `DRIFT_DAYS` apart, so a merge reads only the folders of those days.
    ``keeps_changes``: whether Delta keeps the changed rows of each version (its change data feed).
    """

    name: str
    schema: StructType
    keys: tuple[str, ...] = ()
    rank: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    keeps_changes: bool = False


_Columns = Sequence[tuple[DataType, str]]


def columns(known: _Columns, perhaps: _Columns = ()) -> StructType:
    """Return a schema with the ``known`` columns (NOT NULL) first, then the nullable ones (``perhaps``).

    Both are lines with a type and the names of successive columns of this type, separated by blanks.
    """
    rows = [(kind, names, False) for kind, names in known] + [(kind, names, True) for kind, names in perhaps]
    return StructType([StructField(name, kind, nullable) for kind, names, nullable in rows for name in names.split()])
