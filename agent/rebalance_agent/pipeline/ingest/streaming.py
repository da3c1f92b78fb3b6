"""Runs a Spark stream until it ends or is stopped, and shortens Spark's errors to one line."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from rebalance_agent.clock import Clock
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.ingest.event_times import TOPIC_AGE_DAYS
from rebalance_agent.pipeline.ingest.ingest_events import Ingested, ingest_batch
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["StreamSettings", "ingest_stream"]

WAIT_S = 0.2
"""Seconds between checks of whether the stream is still active."""

STOP_GRACE_S = 60.0
"""Seconds in which a running batch may finish after a stop; an interrupted batch is simply repeated."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The settings of a stream.

    ``checkpoint``: folder of Spark's checkpoint. ``every_s``: seconds between two batches until the stream is stopped;
    if it is None, the stream reads the records that are in the topic now, and then ends. ``age_days_max``: maximum age
    of an event when it is read.
    """

    checkpoint: str
    every_s: float | None = None
    age_days_max: int = TOPIC_AGE_DAYS


def ingest_stream(
    tables: DeltaTables,
    records: DataFrame,
    settings: StreamSettings,
    clock: Clock,
    stop: threading.Event,
    on_batch: Callable[[Ingested], None] = lambda _ingested: None,
) -> Ingested:
    """Merge the stream's batches into the tables; return the number of rows read since the start.

    ``on_batch`` is called with the sum after each batch.

    Raises:
        PipelineError: the stream failed; a restart continues from its checkpoint.
    """
    total = Ingested(0, 0)

    def merge(batch: DataFrame, _number: int) -> None:
        nonlocal total
        ingested = ingest_batch(tables, batch, "ingest", clock, settings.age_days_max)
        total = Ingested(total.events + ingested.events, total.rejected + ingested.rejected)
        on_batch(total)

    writer = records.writeStream.foreachBatch(merge).option("checkpointLocation", settings.checkpoint)
    if settings.every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{settings.every_s} seconds")
    query = writer.start()
    try:
        while query.isActive and not stop.wait(WAIT_S):
            pass
        _end(query, clock)
        if (error := query.exception()) is not None:
            raise PipelineError(_cause(error)) from error
    finally:
        query.stop()
    return total


def _end(query: StreamingQuery, clock: Clock) -> None:
    """Stop the query between two batches, or after `STOP_GRACE_S`."""
    pause, since = threading.Event(), clock.monotonic()
    while query.isActive and query.status["isTriggerActive"] and clock.monotonic() - since < STOP_GRACE_S:
        pause.wait(0.05)
    query.stop()


_HINTS: Mapping[str, str] = {
    r"KAFKA_DATA_LOSS|data may have been lost|failOnDataLoss": (
        "the topic no longer has all records since the last run: its retention is shorter than the time between runs, "
        "or it was deleted and recreated. To continue with the remaining records: --allow-loss"
    ),
    r"UnknownTopicOrPartition|unknown topic": "the topic does not exist",
    r"TopicAuthorization|GroupAuthorization": "this principal needs the permissions READ and DESCRIBE on the topic",
    r"SaslAuthentication|SslAuthentication|SSLHandshake": "the login to Kafka failed",
    r"concurrent.*(stream|update)|CONCURRENT_STREAM_LOG_UPDATE": "another run uses this checkpoint: stop one of them",
}


def _cause(error: Exception) -> str:
    """Return the cause in one line: a hint if the cause is known, else the innermost message."""
    text = str(error)
    for pattern, hint in _HINTS.items():
        if re.search(pattern, text, re.IGNORECASE):
            return hint
    lines = [line.strip() for line in text.splitlines() if re.search(r"(Error|Exception)\b.*:", line)]
    return f"the stream ended: {(lines[-1] if lines else ' '.join(text.split()))[:500]}"
