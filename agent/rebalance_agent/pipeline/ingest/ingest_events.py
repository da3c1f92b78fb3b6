"""Writes published events to the table `events`, each exactly once, and all other records to `events_rejected`.

A batch is decoded by the agent's own codec and merged by ``event_id``. A batch repeated after a crash, a copy from a
second observer, or a file that is read twice therefore changes nothing. The micro-batches of a stream and files take
the same path.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import TimestampType
from pyspark.storagelevel import StorageLevel

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.ingest.decoding import DECODED, LOCATION_COLUMNS, decode
from rebalance_agent.pipeline.ingest.event_rows import EVENT_BYTES_MAX, EventRow, event_row
from rebalance_agent.pipeline.ingest.event_times import ReadAt
from rebalance_agent.pipeline.ingest.file_lines import LINES, PIECES, file_lines, pieces_of
from rebalance_agent.pipeline.spark.kafka_options import OWN_GROUPS, source_options
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import EVENTS, EVENTS_REJECTED
from rebalance_agent.pipeline.tried_releases import AWAITS_RELEASE

__all__ = [
    "FILES",
    "LINE_BYTES_MAX",
    "Ingested",
    "checkpoint_of",
    "count_rows",
    "decoded",
    "events_of_files",
    "events_of_topic",
    "ingest_batch",
    "merge_rows",
    "rejected_as_newer",
    "retry_rejected",
    "stored_events",
]

FILES = "{*.ndjson,*.ndjson.gz,*.ndjson.[0-9]*,*.jsonl,*.jsonl.gz}"
"""Glob of the names of event files, including the observer's rotated ones."""

LINE_BYTES_MAX = "mapreduce.input.linerecordreader.line.maxlength"
"""Name of the option of Spark's line readers for the maximum bytes of a line; longer lines are left out."""

_LOCAL = "file:"

_KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "CAST(NULL AS STRING) AS file")


@dataclass(frozen=True, slots=True)
class Ingested:
    """Numbers of rows read: ``events`` (new or already known) and ``rejected`` records."""

    events: int
    rejected: int


def events_of_topic(
    spark: SparkSession, properties: Mapping[str, str], topic: str, *, records_max: int, lossless: bool = True
) -> DataFrame:
    """Return the topic as a stream: binary key and value, and the columns of `LOCATION_COLUMNS`.

    ``records_max``: maximum number of records in a micro-batch. If ``lossless`` is True, the stream fails if unread
    records were deleted from the topic.

    Raises:
        PipelineError: there is no such topic.
        ClusterError: no broker answers.
    """
    stream = (
        spark.readStream.format("kafka")
        .options(**_topic_options(properties, topic))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", str(records_max))
        .option("failOnDataLoss", str(lossless).lower())
    )
    return stream.load().selectExpr(*_KAFKA_COLUMNS)


def checkpoint_of(tables: DeltaTables, properties: Mapping[str, str], topic: str) -> str:
    """Return the folder of the checkpoint for a topic; each cluster has its own folder, because offsets differ.

    Raises:
        ClusterError: no broker answers.
    """
    cluster_id, _ = Cluster(properties).identify()
    return f"{tables.folder}/_checkpoints/ingest-{re.sub(r'[^A-Za-z0-9_-]', '_', cluster_id)}-{topic}"


def stored_events(spark: SparkSession, properties: Mapping[str, str], topic: str) -> DataFrame:
    """Return the records that are in the topic now, with the columns of `events_of_topic`; raise the same errors."""
    return spark.read.format("kafka").options(**_topic_options(properties, topic)).load().selectExpr(*_KAFKA_COLUMNS)


def _topic_options(properties: Mapping[str, str], topic: str) -> dict[str, str]:
    # This check is needed because Spark reads a missing topic as an empty topic, and may even create the topic.
    if topic not in Cluster(properties).identify()[1]:
        raise PipelineError(f"this cluster has no topic {topic}, or this principal is not allowed to describe it")
    return {
        **source_options(properties),
        "kafka.allow.auto.create.topics": "false",
        "subscribe": topic,
        "groupIdPrefix": OWN_GROUPS,
    }


def events_of_files(spark: SparkSession, folder: str) -> DataFrame:
    """Return the lines of the files in ``folder`` (`FILES`) as values, unchanged; blank lines are left out.

    `file_lines` reads local files, and cuts lines that are too long for an event. Spark reads files at other
    addresses, and leaves out lines that are too long.

    Raises:
        InvalidInputError: there is no such file.
    """
    try:
        found = spark.read.format("binaryFile").option("pathGlobFilter", FILES).load(folder)
        files = found.select("path", "length", F.col("_metadata.file_path")).collect()
    except AnalysisException:
        files = []
    if not files:
        raise InvalidInputError("--events", f"{folder} has no event files ({FILES.strip('{}').replace(',', ', ')})")
    if all(row["path"].startswith(_LOCAL) for row in files):
        lines = _local_lines(spark, files)
    else:
        reader = spark.read.format("text").option("pathGlobFilter", FILES).option(LINE_BYTES_MAX, EVENT_BYTES_MAX)
        lines = reader.load(folder).select(F.col("value").cast("binary"), F.col("_metadata.file_path").alias("file"))
        lines = lines.where(F.length(F.trim(F.col("value").cast("string"))) > 0)
    return lines.select(
        F.lit(None).cast("binary").alias("key"),
        "value",
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("long").alias("offset"),
        "file",
    )


def _local_lines(spark: SparkSession, files: Sequence[Row]) -> DataFrame:
    pieces = [
        piece
        for row in files
        for piece in pieces_of("/" + row["path"].removeprefix(_LOCAL).lstrip("/"), row["length"], row["file_path"])
    ]
    # One task for each piece, as in Spark's own reader.
    rows = spark.sparkContext.parallelize([tuple(piece) for piece in pieces], len(pieces))
    return spark.createDataFrame(rows, PIECES).mapInArrow(file_lines, LINES)


def rejected_as_newer(tables: DeltaTables) -> DataFrame:
    """Return the records that an older release could not read, and that this release has not rejected itself.

    Otherwise each run would read all of them again, however many a client writes.
    """
    return (
        tables.read(EVENTS_REJECTED.name).where(AWAITS_RELEASE).select("rejected_id", "key", "value", *LOCATION_COLUMNS)
    )


def decoded(records: DataFrame, read: ReadAt) -> DataFrame:
    """Decode each record into a row of `DECODED`: an event, or a rejected record (``reason`` is not null)."""
    columns = records.select("key", "value", *LOCATION_COLUMNS)
    return columns.mapInArrow(functools.partial(decode, read=read), DECODED)


def count_rows(rows: DataFrame) -> Ingested:
    """Count the events and the rejected records among rows of `DECODED`."""
    counts = rows.agg(F.count("event_id"), F.count("rejected_id")).first()
    return Ingested(int(counts[0]), int(counts[1])) if counts else Ingested(0, 0)


def ingest_batch(
    tables: DeltaTables, records: DataFrame, origin: str, clock: Clock, age_days_max: int | None = None
) -> Ingested:
    """Decode ``records`` and merge them into both tables; can be repeated without effect.

    ``age_days_max``: maximum age of an event in days (see `ReadAt`).
    """
    # In memory, the uncompressed rows would leave too little memory for sorting and writing.
    rows = decoded(records, ReadAt(clock.now_ms(), age_days_max)).persist(StorageLevel.DISK_ONLY)
    try:
        return merge_rows(tables, rows, origin, clock)
    finally:
        rows.unpersist()


def merge_rows(tables: DeltaTables, rows: DataFrame, origin: str, clock: Clock) -> Ingested:
    """Merge rows of `DECODED` into both tables; ``rows`` is evaluated several times, so persist it."""
    now = F.lit(dt.datetime.fromtimestamp(clock.now_ms() / 1000, dt.UTC)).cast(TimestampType())
    ingested = count_rows(rows)
    if ingested.events:
        tables.merge(EVENTS.name, _finished(rows.where("event_id IS NOT NULL"), origin, now))
    if ingested.rejected:
        rejected = rows.where("rejected_id IS NOT NULL").withColumn("ingested_at", now)
        tables.merge(EVENTS_REJECTED.name, rejected.select(*EVENTS_REJECTED.schema.names))
    return ingested


def retry_rejected(tables: DeltaTables, clock: Clock, age_days_max: int | None = None) -> Ingested:
    """Retry the records of `rejected_as_newer`; those that can be read now are deleted from `events_rejected`."""
    read = ReadAt(clock.now_ms(), age_days_max)
    records = rejected_as_newer(tables).persist(StorageLevel.DISK_ONLY)
    try:
        if records.isEmpty():
            return Ingested(0, 0)
        result = ingest_batch(tables, records, "ingest", clock, age_days_max)
        readable = F.udf(lambda value: isinstance(event_row(value, read), EventRow), "boolean")
        tables.remove(EVENTS_REJECTED.name, records.where(readable("value")).select("rejected_id"))
        return result
    finally:
        records.unpersist()


def _finished(rows: DataFrame, origin: str, now: Column) -> DataFrame:
    columns = {"origin": F.lit(origin), "ingested_at": now, "day": F.to_date("timestamp")}
    return rows.withColumns(columns).select(*EVENTS.schema.names)
