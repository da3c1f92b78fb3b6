"""The times that ingest accepts. Pure, without Spark.

Tables are divided by day, so an event with a time of its own choice adds a folder to four tables. Without this bound, a
client that may write events could add a folder for each day of a century. The bound is relative to the reader's clock:
the timestamp of a record is no evidence, because producers choose it, too.
"""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.model.events import Event
from rebalance_agent.pipeline.ingest.number_limits import event_times
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS

__all__ = ["TOPIC_AGE_DAYS", "ReadAt", "untimely"]

TOPIC_AGE_DAYS = 400
"""Default maximum age of events from a topic, in days. Files have none: their owner chooses which ones to read."""

_DAY_MS = 86_400_000


class ReadAt(NamedTuple):
    """When events are read (epoch milliseconds), and their maximum age in days; None if any age is accepted."""

    now_ms: int
    age_days_max: int | None = None


def untimely(event: Event, read: ReadAt) -> str | None:
    """Return why a time of ``event`` is not accepted; None if all are."""
    for name, value in event_times(event):
        if value is None:
            continue
        if value > read.now_ms + DRIFT_DAYS * _DAY_MS:
            return f"{name}: must not be more than {DRIFT_DAYS} day after the time of ingest"
        if read.age_days_max is not None and value < read.now_ms - read.age_days_max * _DAY_MS:
            return f"{name}: must not be more than {read.age_days_max} days before the time of ingest (--max-age-days)"
    return None
