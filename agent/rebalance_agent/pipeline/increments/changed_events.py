"""Reads which rows of `events` were added, replaced or deleted between two versions of the table."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame

from rebalance_agent.pipeline.increments.processed import Progress
from rebalance_agent.pipeline.tables.delta_tables import KEEPS_CHANGES, RETENTION_HOURS_MIN, DeltaTables
from rebalance_agent.pipeline.tables.schemas import EVENTS

__all__ = ["AGE_HOURS_MAX", "can_read_changes", "changed_events", "events_now", "keep_changes"]

AGE_HOURS_MAX = RETENTION_HOURS_MIN - 24
"""Maximum hours between two runs; after a longer pause, `maintain` may have deleted changes that were not read."""


def events_now(tables: DeltaTables, now_ms: int) -> Progress:
    """Return the last version of `events` at ``now_ms`` (epoch)."""
    table = DeltaTable.forPath(tables.spark, tables.path(EVENTS.name))
    return Progress(table.history(1).collect()[0]["version"], table.detail().collect()[0]["id"], now_ms)


def keep_changes(tables: DeltaTables) -> None:
    """Let Delta keep the changes of `events` from now on: a table of an older release does not."""
    if not _keeps_changes(tables):
        path = tables.path(EVENTS.name)
        tables.spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({KEEPS_CHANGES} = true)")


def can_read_changes(tables: DeltaTables, before: Progress, now: Progress) -> bool:
    """Whether Delta certainly has the changes between two runs: the table is the same, and the first is recent."""
    same = before.table_id == now.table_id and before.version <= now.version
    return same and now.at_ms - before.at_ms <= AGE_HOURS_MAX * 3_600_000 and _keeps_changes(tables)


def changed_events(tables: DeltaTables, after: int, until: int) -> DataFrame:
    """Return each changed row of `events`: new and deleted ones, and replaced ones as they were and as they are."""
    reader = tables.spark.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", after + 1).option("endingVersion", until)
    return reader.load(tables.path(EVENTS.name)).select(*EVENTS.schema.names)


def _keeps_changes(tables: DeltaTables) -> bool:
    detail = DeltaTable.forPath(tables.spark, tables.path(EVENTS.name)).detail().collect()[0]
    return bool(detail["properties"].get(KEEPS_CHANGES) == "true")
