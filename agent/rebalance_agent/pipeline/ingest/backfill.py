"""Reads the records that `__consumer_offsets` still holds and replays them into rows of `events`.

The observer's own code decodes records, tracks groups and makes event ids. Each Spark task gets some groups of one
partition with their records in log order, so the task needs memory only for the current state of those groups. Rows
of origin ``backfill`` never replace rows of another origin.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.storagelevel import StorageLevel

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.groupprotocol.group_fact import COMMIT_KEYS_END
from rebalance_agent.model.group import GroupType
from rebalance_agent.pipeline.errors import PipelineError, one_line
from rebalance_agent.pipeline.ingest.decoding import DECODED
from rebalance_agent.pipeline.ingest.ingest_events import LINE_BYTES_MAX, Ingested, count_rows, merge_rows
from rebalance_agent.pipeline.ingest.log_rows import GroupPatterns, replayed_rows
from rebalance_agent.pipeline.spark.kafka_options import OWN_GROUPS, source_options
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.tracking.log_replay import LogFacts

__all__ = [
    "Gaps",
    "PartitionRange",
    "TopicNow",
    "gaps",
    "keep",
    "ranges",
    "records_of_files",
    "records_of_topic",
    "replayed",
    "topic_now",
]

_COLUMNS = ("partition", "offset", "timestamp_ms", "position", "key", "value", "topic")
"""Columns of a record. An unknown ``offset`` is null; the record is then ordered by timestamp and ``position``."""

_ORDER = ("partition", "offset", "timestamp_ms", "position")

_NOT_COMMIT = f"substring(key, 1, 2) >= X'{COMMIT_KEYS_END.hex()}'"
"""SQL: true if the record is not an offset commit. Nearly all are commits; Spark drops these before Python reads."""

_GROUP = "substring(key, 5, CAST(conv(hex(substring(key, 3, 2)), 16, 10) AS INT))"
"""SQL: the bytes of the group id in a key; these bytes follow the key's version and the length (two bytes each)."""


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The records that were read from one partition: their number, first and last offset, first and last timestamp.

    Timestamps are in epoch milliseconds; offsets are None if unknown.
    """

    partition: int
    records: int
    first_offset: int | None
    last_offset: int | None
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """The number of ``present`` generations of a classic group, and of ``missing`` generations between them."""

    group: str
    present: int
    missing: int


@dataclass(frozen=True, slots=True)
class TopicNow:
    """The cluster's facts and the topic's offsets at one moment.

    ``starts`` and ``ends``: partition -> its first offset, and the offset after its last offset.
    """

    facts: LogFacts
    starts: Mapping[int, int]
    ends: Mapping[int, int]


def topic_now(properties: Mapping[str, str]) -> TopicNow:
    """Read the current offsets of `__consumer_offsets` from the cluster.

    Raises:
        PipelineError: the cluster has no such topic.
        ClusterError: no broker answers, or an ACL is missing.
    """
    cluster = Cluster(properties)
    cluster_id, counts = cluster.identify()
    partitions = range(counts.get(OFFSETS_TOPIC, 0))
    if not partitions:
        raise PipelineError(f"this cluster has no {OFFSETS_TOPIC} yet, or this principal is not allowed to describe it")
    starts, ends = (ask(OFFSETS_TOPIC, partitions) for ask in (cluster.start_offsets, cluster.end_offsets))
    return TopicNow(LogFacts(cluster_id, counts, cluster.topic_ids(counts)), starts, ends)


def records_of_topic(spark: SparkSession, properties: Mapping[str, str], now: TopicNow) -> DataFrame:
    """Return the topic's records up to the end offsets of ``now``; commits extend the topic while Spark reads it.

    Raises:
        PipelineError: Spark reads no records although, according to the offsets, there are records.
    """
    ends = {OFFSETS_TOPIC: {str(number): end for number, end in now.ends.items()}}
    frame = (
        spark.read.format("kafka")
        .options(**source_options(properties))
        .option("subscribe", OFFSETS_TOPIC)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", json.dumps(ends))
        .option("groupIdPrefix", OWN_GROUPS)
        .load()
        .withColumns({"timestamp_ms": F.unix_millis("timestamp"), "position": F.lit(0)})
        .select(*_COLUMNS)
    )
    records_expected = sum(max(0, end - now.starts.get(number, 0)) for number, end in now.ends.items())
    if records_expected and frame.isEmpty():
        raise PipelineError(
            f"Spark read no records, although {OFFSETS_TOPIC} has up to {records_expected}: set "
            "spark.sql.streaming.kafka.useDeprecatedOffsetFetching=true, and grant this principal Read on the topic"
        )
    return frame


def records_of_files(spark: SparkSession, folder: str) -> DataFrame:
    """Return the records of the Parquet or JSON-lines files in ``folder``.

    The columns or fields are those that ``rebalance-agent decode`` reads: ``key`` and ``value`` (base64 in JSON),
    ``timestamp`` (epoch milliseconds), optionally ``partition`` and ``offset``. Without an offset, records are ordered
    by timestamp and then by position in the files. A line of more than `_RECORD_LINE_BYTES_MAX` is left out.

    Raises:
        InvalidInputError: there are no such files, or they have other columns.
    """
    parquet = spark.read.option("pathGlobFilter", "*.parquet")
    lines = spark.read.option("pathGlobFilter", "{*.ndjson,*.ndjson.gz,*.jsonl,*.jsonl.gz}")
    lines = lines.option(LINE_BYTES_MAX, _RECORD_LINE_BYTES_MAX)
    try:
        frame = parquet.schema(_PARQUET).parquet(folder)
        if frame.isEmpty():
            frame = lines.schema(_LINES).json(folder).withColumns({name: F.unbase64(name) for name in ("key", "value")})
    except Exception as error:
        raise InvalidInputError("--records", f"cannot read {folder}: {one_line(error, 300)}") from error
    if frame.isEmpty():
        raise InvalidInputError(
            "--records", f"{folder} has no records in *.parquet, *.ndjson, *.ndjson.gz, *.jsonl or *.jsonl.gz"
        )
    return (
        frame.where(F.col("key").isNotNull())
        .select("*", "_metadata")
        .withColumns(
            {
                "partition": F.coalesce("partition", F.lit(0)),
                "position": F.struct(
                    "_metadata.file_path", "_metadata.file_block_start", F.monotonically_increasing_id()
                ),
                "topic": F.lit(None).cast("string"),
                # Time 0 is out of bounds, so the events of such records are rejected for that reason.
                "timestamp_ms": F.coalesce("timestamp", F.lit(0)),
            }
        )
        .select(*_COLUMNS)
    )


_POSITION_COLUMNS = "partition int, offset long, timestamp long"
_RECORD_LINE_BYTES_MAX = 64 << 20
"""Maximum number of bytes of a line. In base64, the largest record that brokers accept by default has 1.4 MB."""

_PARQUET = f"key binary, value binary, {_POSITION_COLUMNS}"
_LINES = f"key string, value string, {_POSITION_COLUMNS}"


def ranges(records: DataFrame) -> list[PartitionRange]:
    """Return the range of ``records`` in each partition, ordered by partition."""
    numbers = records.groupBy("partition").agg(
        F.count("*"), F.min("offset"), F.max("offset"), F.min("timestamp_ms"), F.max("timestamp_ms")
    )
    return sorted((PartitionRange(*row) for row in numbers.collect()), key=lambda read: read.partition)


def replayed(records: DataFrame, facts: LogFacts, patterns: GroupPatterns | None = None) -> DataFrame:
    """Replay ``records`` into rows of `DECODED`: the groups' events, and the records that break their schema."""
    chosen = patterns or GroupPatterns()

    def replay(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from replayed_rows(batches, facts, chosen)

    return (
        records.where(F.expr(_NOT_COMMIT))
        # Groups are independent of each other, so many tasks can share one partition.
        .repartition("partition", F.expr(_GROUP))
        .sortWithinPartitions(*_ORDER)
        .drop("position")
        .mapInArrow(replay, DECODED)
    )


def keep(tables: DeltaTables, rows: DataFrame, clock: Clock, *, write: bool = True) -> tuple[Ingested, list[Gaps]]:
    """Merge rows of `replayed` into the tables, or only count the rows; also return the gaps between generations."""
    rows = rows.persist(StorageLevel.DISK_ONLY)
    try:
        ingested = merge_rows(tables, rows, "backfill", clock) if write else count_rows(rows)
        return ingested, gaps(rows)
    finally:
        rows.unpersist()


def gaps(rows: DataFrame) -> list[Gaps]:
    """Return the classic groups with missing generations; groups with the most missing generations come first.

    Groups of other types are left out, because they may skip epochs. A recreated group restarts its count.
    """
    classic = F.get_json_object("body", "$.group_type") == GroupType.CLASSIC.value
    order = Window.partitionBy("group").orderBy("timestamp", "generation")
    steps = (
        rows.where("kind = 'generation' AND part = 0")
        .select("group", "generation", "timestamp", classic.alias("classic"))
        .withColumns({"before": F.lag("generation").over(order), "same": F.lag("classic").over(order)})
        .where("classic")
    )
    missing = F.when(F.col("same"), F.greatest(F.lit(0), F.col("generation") - F.col("before") - 1))
    counts = steps.groupBy("group").agg(F.count("*"), F.sum(missing)).collect()
    all_gaps = (Gaps(group, present, int(absent or 0)) for group, present, absent in counts)
    return sorted((gap for gap in all_gaps if gap.missing), key=lambda gap: (-gap.missing, gap.group))
