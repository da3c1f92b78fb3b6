"""Stores the version of `events` from which the tables were last computed.

A small Delta table, ``_processed``, has one row. A run changes the version only after writing its last table, so a run
that is killed is repeated from the same version.

The row also has the id of the run that began last. If two runs overlap, the earlier run stops before its next write,
because otherwise it could overwrite rows of the later run with older rows.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent import __version__
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.tables.delta_tables import RETENTION_HOURS_MIN, DeltaTables
from rebalance_agent.pipeline.write_conflicts import retry_conflicts

__all__ = ["Progress", "Run", "last_progress", "remove_old_files"]

_COLUMNS = "version BIGINT, release STRING, table_id STRING, at_ms BIGINT, run STRING"


@dataclass(frozen=True)
class Progress:
    """The state of `events` that a run has read: the table's ``version`` and the time of reading (``at_ms``, epoch).

    ``table_id``: Delta's id of `events`; a table that is created again gets another id.
    """

    version: int
    table_id: str
    at_ms: int


_NOTHING = Progress(-1, "", 0)
"""The progress that is stored while a run computes all days."""


@dataclass(frozen=True)
class Run:
    """A run that writes ``tables``."""

    tables: DeltaTables
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def begin(self, before: Progress | None) -> None:
        """Store that this run has begun, and from where it is repeated if it is killed; None: from all days."""
        row = self._row(before or _NOTHING).write.format("delta").mode("overwrite")
        retry_conflicts(lambda: row.save(_path(self.tables)))

    def require_last(self) -> None:
        """Check that no other run has begun after this run.

        Raises:
            PipelineError: another run has begun.
        """
        row = _row(self.tables)
        if row is None or row["run"] != self.id:
            raise PipelineError(
                "another run has begun to aggregate these tables: start this run again when that run has ended"
            )

    def overwrite(self, name: str, rows: DataFrame, where: str | None = None) -> None:
        """Replace all rows of a table, or the rows for which the condition ``where`` is true.

        Raises:
            PipelineError: another run has begun; that run computes these rows from the same or newer events.
        """
        self.tables.overwrite(name, rows, where, self.require_last)

    def end(self, now: Progress) -> None:
        """Store that the tables are computed up to ``now``, unless another run has begun, which repeats this work."""
        row = self._row(now).alias("new")
        stored = DeltaTable.forPath(self.tables.spark, _path(self.tables)).alias("old")
        merge = stored.merge(row, F.col("old.run") == F.col("new.run")).whenMatchedUpdateAll()
        retry_conflicts(merge.execute)

    def _row(self, progress: Progress) -> DataFrame:
        values = (progress.version, __version__, progress.table_id, progress.at_ms, self.id)
        return self.tables.spark.createDataFrame([values], _COLUMNS)


def last_progress(tables: DeltaTables) -> Progress | None:
    """Return what the last finished run has read; None if no run finished, or another release ran it."""
    row = _row(tables)
    if row is None or row["release"] != __version__:
        return None
    progress = Progress(row["version"], row["table_id"], row["at_ms"])
    return None if progress == _NOTHING else progress


def remove_old_files(tables: DeltaTables) -> None:
    """Delete the files of old rows; each run adds two files."""
    if DeltaTable.isDeltaTable(tables.spark, _path(tables)):
        DeltaTable.forPath(tables.spark, _path(tables)).vacuum(RETENTION_HOURS_MIN)


def _row(tables: DeltaTables) -> Row | None:
    if not DeltaTable.isDeltaTable(tables.spark, _path(tables)):
        return None
    return tables.spark.read.format("delta").load(_path(tables)).first()


def _path(tables: DeltaTables) -> str:
    return f"{tables.folder}/_processed"
