"""Reads and writes the Delta tables of one folder: merge by key, overwrite, append, delete, compact.

Every write is one Delta transaction. A write that conflicts with the write of another writer is retried. A retry is
safe because a merge by key can be repeated.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import StructType

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.errors import PipelineError, one_line
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS, Table
from rebalance_agent.pipeline.tables.schemas import TABLES
from rebalance_agent.pipeline.write_conflicts import retry_conflicts

__all__ = ["KEEPS_CHANGES", "RETENTION_HOURS_MIN", "DeltaTables"]

RETENTION_HOURS_MIN = 168
"""Minimum retention of files of older versions, in hours (a week), so that readers of a version can finish."""

KEEPS_CHANGES = "delta.enableChangeDataFeed"
"""Name of the table property with which Delta keeps the changed rows of each version."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
"""Matches the scheme of an address that is not a local path."""


class DeltaTables:
    """The tables of `schemas.TABLES`, each a subfolder of ``folder``: a path, or an address that Spark can write to."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        """Set the folder; the first write creates it."""
        if not folder.strip():
            raise InvalidInputError("tables", "must be a folder or an address such as s3a://bucket/rebalances")
        self.spark = spark
        # Delta interprets a relative path as the name of a table.
        self.folder = folder.rstrip("/") if _ADDRESS.match(folder) else os.path.abspath(folder)  # noqa: PTH100 - of text

    def path(self, name: str) -> str:
        """Return the table's path or address, whether or not it exists."""
        return f"{self.folder}/{_table_named(name).name}"

    def exists(self, name: str) -> bool:
        """Return whether the table was ever written."""
        return DeltaTable.isDeltaTable(self.spark, self.path(name))

    def read(self, name: str, version: int | None = None) -> DataFrame:
        """Return the table, or an older version of it, with the columns of this release; empty if it does not exist.

        Columns that a newer release added are left out; columns that an older release did not have are null.
        """
        table = _table_named(name)
        if not self.exists(name):
            return self.spark.createDataFrame([], table.schema)
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return _with_our_columns(reader.load(self.path(name)), table)

    def read_changes(self, name: str, after: int, until: int) -> DataFrame:
        """Return the rows that versions above ``after``, up to ``until``, added, deleted or replaced (old and new).

        The table must keep its changes (`schemas.Table`).
        """
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", after + 1).option("endingVersion", until)
        return _with_our_columns(reader.load(self.path(name)), _table_named(name))

    def merge(self, name: str, frame: DataFrame) -> None:
        """Insert each row, or replace the row with the same key if the new row has a higher rank (`schemas.Table`).

        ``frame`` is evaluated more than once, so persist it if it is expensive. If several rows have the same key, a
        row with the highest rank is used.
        """
        table, rows = self._prepared(name, frame)
        rows = _deduplicated(rows, table)
        same = " AND ".join((*(f"old.`{key}` = new.`{key}`" for key in table.keys), *_day_condition(table, frame)))
        retry_conflicts(lambda: self._merge(table, rows, same))

    def overwrite(
        self, name: str, frame: DataFrame, where: str | None = None, check: Callable[[], None] = lambda: None
    ) -> None:
        """Replace all rows, or the rows for which ``where`` is true; readers see the old rows until the write ends.

        A table from another release gets this release's columns, which may stay nullable. ``check`` is called before
        each attempt; if it raises an error, nothing is written.
        """
        table, rows = self._prepared(name, frame)
        writer = rows.write.format("delta").mode("overwrite").partitionBy(*table.partitioned_by)
        # The schema is written only if it differs: a writer's own schema is never NOT NULL.
        if where is not None:
            writer = writer.option("replaceWhere", where)
        elif not self._has_our_schema(table):
            writer = writer.option("overwriteSchema", "true")

        def write() -> None:
            check()
            writer.save(self.path(name))

        retry_conflicts(write)

    def append(self, name: str, frame: DataFrame) -> None:
        """Append rows to a table without a key."""
        if _table_named(name).keys:
            raise PipelineError(f"{name} has a key: merge rows into it, because append would write them twice")
        _, rows = self._prepared(name, frame)
        writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
        retry_conflicts(lambda: writer.save(self.path(name)))

    def remove(self, name: str, keys: DataFrame, columns: Sequence[str] = ()) -> None:
        """Delete the rows that have the same values as a row of ``keys`` in ``columns``, by default the table's key."""
        columns = columns or _table_named(name).keys
        if not self.exists(name):
            return
        same = " AND ".join(f"old.`{column}` <=> gone.`{column}`" for column in columns)
        gone = keys.select(*columns).distinct().alias("gone")
        retry_conflicts(lambda: self._delta(name).alias("old").merge(gone, same).whenMatchedDelete().execute())

    def keep_days(self, name: str, column: str, first: dt.date, last: dt.date) -> int:
        """Delete the rows whose ``column`` is not from ``first`` to ``last`` (days in UTC); return their number."""
        if not self.exists(name):
            return 0
        others = (F.col(column) < F.lit(first)) | (F.col(column) >= F.lit(last + dt.timedelta(1)))
        count = self.read(name).where(others).count()
        if count:
            retry_conflicts(lambda: self._delta(name).delete(others))
        return count

    def compact(self, name: str, retention_hours: int = RETENTION_HOURS_MIN) -> tuple[int, int]:
        """Merge small files, and delete the files of old versions; return the number of files before and after."""
        if retention_hours < RETENTION_HOURS_MIN:
            raise InvalidInputError(
                "retention_hours", f"must be at least {RETENTION_HOURS_MIN}: running readers need the old files"
            )
        if not self.exists(name):
            return 0, 0
        before = self.files(name)
        table = self._delta(name)
        retry_conflicts(lambda: table.optimize().executeCompaction())
        table.vacuum(retention_hours)
        return before, self.files(name)

    def files(self, name: str) -> int:
        """Return the number of data files of the current version."""
        if not self.exists(name):
            return 0
        detail = self._delta(name).detail().select("numFiles").first()
        return int(detail[0]) if detail else 0

    def has_our_columns(self, name: str) -> bool:
        """Return whether the table exists and has the columns of this release in the same order."""
        ours = [column[:2] for column in _columns(_table_named(name).schema)]
        return self.exists(name) and [column[:2] for column in _columns(self._delta(name).toDF().schema)] == ours

    def _has_our_schema(self, table: Table) -> bool:
        """Return whether the stored columns, their order and their nullability are the same as in this release."""
        stored = self._delta(table.name).toDF().schema
        return _columns(stored) == _columns(table.schema)

    def _prepared(self, name: str, frame: DataFrame) -> tuple[Table, DataFrame]:
        """Return the table, created if missing, and the frame with its columns in the table's order."""
        table = _table_named(name)
        rows = _checked(table, frame)
        if not self.exists(name):
            try:
                self._create(table)
            except AnalysisException as error:
                raise PipelineError(f"cannot create the table {self.path(name)}: {one_line(error)}") from error
        else:
            self._allow_nulls(table)
        return table, rows

    def _create(self, table: Table) -> None:
        builder = DeltaTable.createIfNotExists(self.spark).location(self.path(table.name)).addColumns(table.schema)
        if table.partitioned_by:
            builder = builder.partitionedBy(*table.partitioned_by)
        if table.keeps_changes:
            builder = builder.property(KEEPS_CHANGES, "true")
        try:
            retry_conflicts(builder.execute)
        except AnalysisException as error:
            if error.getCondition() != "DELTA_TABLE_NOT_FOUND":
                raise
            # A writer that was killed before its first commit left a folder that Delta mistakes for an existing table.
            # An append creates the table with nullable columns, and changes nothing if another writer was faster.
            empty = self.spark.createDataFrame([], table.schema).write.format("delta").mode("append")
            retry_conflicts(lambda: empty.partitionBy(*table.partitioned_by).save(self.path(table.name)))

    def _allow_nulls(self, table: Table) -> None:
        """Make stored columns nullable if an older release declared them NOT NULL and this release does not."""
        nullable = {field.name for field in table.schema if field.nullable}
        stored = self._delta(table.name).toDF().schema
        for name in (field.name for field in stored if field.name in nullable and not field.nullable):
            change = f"ALTER TABLE delta.`{self.path(table.name)}` ALTER COLUMN `{name}` DROP NOT NULL"
            retry_conflicts(partial(self.spark.sql, change))

    def _merge(self, table: Table, rows: DataFrame, same: str) -> None:
        """Insert the rows with new keys, and then replace stored rows of lower rank.

        A single merge for both steps would rewrite every file that contains one of the keys, although most repeated
        rows replace no row. In this order, a row of lower rank that another writer inserts in between is replaced, too.
        """

        def merge(source: DataFrame) -> DeltaMergeBuilder:
            return self._delta(table.name).alias("old").merge(source.alias("new"), same).withSchemaEvolution()

        merge(rows).whenNotMatchedInsertAll().execute()
        stored = self._delta(table.name).toDF().alias("old")
        higher = rows.alias("new").join(stored, F.expr(same) & _higher(table), "left_semi")
        if not higher.isEmpty():
            merge(higher).whenMatchedUpdateAll(_higher(table)).execute()

    def _delta(self, name: str) -> DeltaTable:
        return DeltaTable.forPath(self.spark, self.path(name))


def _table_named(name: str) -> Table:
    try:
        return TABLES[name]
    except KeyError:
        raise PipelineError(f"there is no table {name!r}; the tables are {', '.join(TABLES)}") from None


def _checked(table: Table, frame: DataFrame) -> DataFrame:
    """Return the frame with its columns in the table's order.

    Raises:
        PipelineError: the columns differ from the table's schema.
    """
    actual = {field.name: field.dataType.simpleString() for field in frame.schema}
    expected = {field.name: field.dataType.simpleString() for field in table.schema}
    if actual != expected:
        difference = sorted(set(actual.items()) ^ set(expected.items()))
        raise PipelineError(f"rows for {table.name} have other columns than the table: {difference}")
    return frame.select(*(F.col(f"`{name}`") for name in expected))


def _with_our_columns(frame: DataFrame, table: Table) -> DataFrame:
    return frame.select(
        *(
            F.col(field.name) if field.name in frame.columns else F.lit(None).cast(field.dataType).alias(field.name)
            for field in table.schema
        )
    )


def _columns(schema: StructType) -> list[tuple[str, str, bool]]:
    return [(field.name, field.dataType.simpleString(), field.nullable) for field in schema]


def _deduplicated(frame: DataFrame, table: Table) -> DataFrame:
    """Return one row for each key: the row of highest rank and, if ranks are equal, of the lowest known offset."""
    if not table.keys:
        raise PipelineError(f"{table.name} has no key: append rows to it")
    order = [F.expr(expression).desc() for expression in table.rank]
    order += [F.col(name).asc_nulls_last() for name in ("partition", "offset") if name in frame.columns]
    window = Window.partitionBy(*(F.col(f"`{key}`") for key in table.keys)).orderBy(*(order or [F.lit(0)]))
    return frame.withColumn("_row_number", F.row_number().over(window)).where("_row_number = 1").drop("_row_number")


def _higher(table: Table) -> Column:
    """Return whether the new row's rank is higher in the first expression that differs; always true without a rank."""
    higher = F.lit(not table.rank)
    for expression in reversed(table.rank):
        new, old = (F.expr(_qualified(table, expression, side)) for side in ("new", "old"))
        higher = (new > old) | (new.eqNullSafe(old) & higher)
    return higher


def _qualified(table: Table, expression: str, side: str) -> str:
    """Return the expression with its columns qualified by one side of a merge."""
    columns = {field.name for field in table.schema}
    return " ".join(f"{side}.`{word}`" if word in columns else word for word in expression.split(" "))


def _day_condition(table: Table, rows: DataFrame) -> Iterator[str]:
    """Yield a condition on the folders that can contain the rows' keys, so that a merge reads no others."""
    if "day" in table.partitioned_by:
        days = rows.agg(F.min("day"), F.max("day")).first()
        if days and days[0]:
            first, last = days[0] - dt.timedelta(DRIFT_DAYS), days[1] + dt.timedelta(DRIFT_DAYS)
            yield f"old.day BETWEEN DATE'{first}' AND DATE'{last}'"
