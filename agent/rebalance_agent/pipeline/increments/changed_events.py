"""Reads which rows of `events` were added, replaced or deleted since the last run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel

from rebalance_agent.pipeline.errors import one_line
from rebalance_agent.pipeline.increments.processed import Progress
from rebalance_agent.pipeline.tables.delta_tables import KEEPS_CHANGES, RETENTION_HOURS_MIN, DeltaTables
from rebalance_agent.pipeline.tables.schemas import EVENTS
from rebalance_agent.pipeline.write_conflicts import retry_conflicts

__all__ = ["AGE_HOURS_MAX", "NoIncrementError", "changed_events", "events_now", "keep_changes", "require_changes"]

AGE_HOURS_MAX = RETENTION_HOURS_MIN - 24
"""Maximum number of hours between runs; after a longer pause, `maintain` may have deleted unread changes."""

_LOST = re.compile(r"DELTA_|FILE_NOT_EXIST|FileNotFoundException|FILE_NOT_FOUND")
"""Matches Spark's errors for changes that cannot be read because their files or versions were deleted or not kept."""


class NoIncrementError(Exception):
    """All days must be computed, for example because changes of `events` are missing; the message states the reason."""


def events_now(tables: DeltaTables, now_ms: int) -> Progress:
    """Return the last version of `events` at ``now_ms`` (epoch)."""
    table = DeltaTable.forPath(tables.spark, tables.path(EVENTS.name))
    return Progress(table.history(1).collect()[0]["version"], table.detail().collect()[0]["id"], now_ms)


def keep_changes(tables: DeltaTables) -> None:
    """Let Delta keep the changes of `events` from now on; a table from an older release does not keep its changes."""
    if not _keeps_changes(tables):
        change = f"ALTER TABLE delta.`{tables.path(EVENTS.name)}` SET TBLPROPERTIES ({KEEPS_CHANGES} = true)"
        retry_conflicts(lambda: tables.spark.sql(change))


def require_changes(tables: DeltaTables, before: Progress, now: Progress) -> None:
    """Check that the table is the same as in ``before``, and that not too much time has passed since then.

    Raises:
        NoIncrementError: the table was created again, or too much time has passed.
    """
    if before.table_id != now.table_id or before.version > now.version:
        raise NoIncrementError("the events table was created again")
    if now.at_ms - before.at_ms > AGE_HOURS_MAX * 3_600_000:
        raise NoIncrementError(f"the last run was more than {AGE_HOURS_MAX // 24} days ago")
    if not _keeps_changes(tables):
        raise NoIncrementError("the events table has no change data feed")


@contextmanager
def changed_events(tables: DeltaTables, after: int, until: int) -> Iterator[DataFrame]:
    """Yield each changed row of `events`: new rows, deleted rows, and the old and new versions of replaced rows.

    Raises:
        NoIncrementError: the files of the changes are deleted, for example by VACUUM with a shorter retention than
        `maintain` uses.
    """
    changes = None
    try:
        try:
            changes = tables.read_changes(EVENTS.name, after, until).persist(StorageLevel.DISK_ONLY)
            changes.count()  # reads the changes now: later, the caller could no longer compute all days instead
        except (Py4JJavaError, PySparkException) as error:
            if not _LOST.search(str(error)):
                raise
            raise NoIncrementError(f"the changes of events cannot be read: {one_line(error, 200)}") from error
        yield changes
    finally:
        if changes is not None:
            changes.unpersist()


def _keeps_changes(tables: DeltaTables) -> bool:
    detail = DeltaTable.forPath(tables.spark, tables.path(EVENTS.name)).detail().collect()[0]
    return bool(detail["properties"].get(KEEPS_CHANGES) == "true")
