"""Stores up to which version of `events` the tables are computed.

A small Delta table, ``_processed``, has one row. A run changes it only after its last table is written, so a run that
is killed is repeated from the same version. If two runs overlap, one may overwrite days of the other with older rows:
the row is then deleted, and the next run computes all days.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent import __version__
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables, retry_conflicts

__all__ = ["Progress", "begin_full", "last_progress", "record"]

_BEGUN = -1
"""The version while a run computes all days."""

_COLUMNS = "version BIGINT, run STRING, release STRING, table_id STRING, at_ms BIGINT"


@dataclass(frozen=True)
class Progress:
    """A run: the ``version`` of `events` that it has read, and its time (``at_ms``, epoch).

    ``table_id``: Delta's id of `events`, which differs if the table was created again. ``run``: the run's own id.
    """

    version: int
    table_id: str
    at_ms: int
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


def last_progress(tables: DeltaTables) -> Progress | None:
    """Return the last finished run; None if there is none, or it was one of another release."""
    if not DeltaTable.isDeltaTable(tables.spark, _path(tables)):
        return None
    row = tables.spark.read.format("delta").load(_path(tables)).first()
    if row is None or row["version"] == _BEGUN or row["release"] != __version__:
        return None
    return Progress(row["version"], row["table_id"], row["at_ms"], row["run"])


def begin_full(tables: DeltaTables) -> Progress:
    """Store that a run computes all days; return what `record` needs at its end."""
    progress = Progress(_BEGUN, "", 0)
    rows = _row(tables, progress).write.format("delta").mode("overwrite")
    retry_conflicts(lambda: rows.save(_path(tables)))
    return progress


def record(tables: DeltaTables, before: Progress, now: Progress) -> None:
    """Store that the tables are computed up to ``now``, if no other run has finished or begun since ``before``."""
    row = _row(tables, now).alias("new")
    merge = DeltaTable.forPath(tables.spark, _path(tables)).alias("old").merge(row, "true")
    mine = F.col("old.run") == before.run
    retry_conflicts(merge.whenMatchedUpdateAll(mine).whenMatchedDelete().execute)


def _path(tables: DeltaTables) -> str:
    return f"{tables.folder}/_processed"


def _row(tables: DeltaTables, progress: Progress) -> DataFrame:
    values = (progress.version, progress.run, __version__, progress.table_id, progress.at_ms)
    return tables.spark.createDataFrame([values], _COLUMNS)
