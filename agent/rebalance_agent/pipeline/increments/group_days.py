"""Replaces the rows of chosen groups and days in a table that is partitioned by day."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.storagelevel import StorageLevel

from rebalance_agent.pipeline.increments.processed import Run
from rebalance_agent.pipeline.table_schema import GROUP_DAY

__all__ = ["replace_days"]


def replace_days(run: Run, name: str, rows: DataFrame, keys: DataFrame) -> None:
    """Replace the rows of the ``keys`` (`GROUP_DAY`) with ``rows``, which have no other keys, in one transaction.

    The other groups' rows of these days are written again unchanged, because Delta replaces whole files.
    """
    new = rows.persist(StorageLevel.DISK_ONLY)
    try:
        stored = run.tables.read(name)
        of_keys = stored.select("day").distinct().join(keys.select("day").distinct(), "day")
        days = sorted(row["day"] for row in of_keys.union(new.select("day")).distinct().collect())
        if days:
            where = F.col("day").isin(days)
            others = stored.where(where).join(F.broadcast(keys), [*GROUP_DAY], "left_anti")
            condition = ", ".join(f"DATE'{day}'" for day in days)
            run.overwrite(name, others.unionByName(new), f"day IN ({condition})")
    finally:
        new.unpersist()
