"""Deletes rows of `events` that repeat the id of another row on a distant day, where a merge does not look for it.

Replicas and later revisions of an event are at most `DRIFT_DAYS` apart. Only a false event can be further away, and two
rows with one id would break an expectation in each later run.
"""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import EVENTS

__all__ = ["remove_repeated"]

_ID_DAY = ("event_id", "day")


def remove_repeated(tables: DeltaTables) -> int:
    """Keep one row for each event id, as a merge does: that of the highest rank, or the first one that was ingested.

    Return the number of deleted rows.
    """
    if not tables.exists(EVENTS.name):
        return 0
    events = tables.read(EVENTS.name)
    repeated = events.groupBy("event_id").agg(F.count("*").alias("rows")).where("rows > 1").persist()
    try:
        if repeated.isEmpty():
            return 0
        best = Window.partitionBy("event_id").orderBy(
            *(F.expr(each).desc() for each in EVENTS.rank), "ingested_at", "day"
        )
        rows = events.join(repeated, "event_id", "left_semi").withColumn("kept", F.first("day").over(best))
        gone = rows.where("day <> kept").select(*_ID_DAY)
        number = gone.count()
        tables.remove(EVENTS.name, gone, _ID_DAY)
        return number
    finally:
        repeated.unpersist()
