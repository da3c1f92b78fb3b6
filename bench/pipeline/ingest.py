"""Measures ingested events and decoded generations per second, compared with a bare read in the same Spark session.

- The bare read uses Spark's Kafka source, and counts the records and the bytes of their values.
- Ingest runs the stream as ``pipeline ingest`` does: it decodes the events and merges them into an empty table. It then
  runs again with a new checkpoint, when the table already has every event.
- Backfill decodes the generations of an offsets topic and returns them as events. One record in
  `RECORDS_PER_GENERATION` is a generation, with 20 members.
"""

from __future__ import annotations

import gzip
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from bench.measure import say, table
from bench.pipeline.fleets import write_fleet
from bench.synthetic import GROUPS, enqueue, fill, offsets_broker, records
from bench.tree import Took, took, watched
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.ingest.backfill import records_of_topic, replayed, topic_now
from rebalance_agent.pipeline.ingest.ingest_events import count_rows, events_of_topic, stored_events
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

GENERATIONS = 20_000
"""Number of generations in the events topic, which has about 60,000 events of 2 kB."""

OFFSETS_RECORDS = 1_500_000
EVENTS_TOPIC, EVENTS_PARTITIONS = "rebalance-events", 6
RECORDS_MAX = 100_000
"""Maximum number of records in one micro-batch: the default of ``pipeline ingest``."""

CORES = 2


def main(scale: float = 1.0) -> None:
    """Fill the topics and read them."""
    with (
        offsets_broker() as (kafka, partitions),
        tempfile.TemporaryDirectory(prefix="bench-ingest-") as folder,
        open_session(SessionSettings(master=f"local[{CORES}]"), "bench") as spark,
    ):
        properties = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": "0"}
        say("filling both topics")
        _fill_events(kafka.bootstrap_servers, Path(folder), scale)
        groups, total = max(1, round(GROUPS * scale)), round(OFFSETS_RECORDS * scale)
        fill(kafka.bootstrap_servers, records(total, groups, SystemClock().now_ms()), partitions)
        tables = DeltaTables(spark, f"{folder}/tables")
        events = stored_events(spark, properties, EVENTS_TOPIC)
        offsets = records_of_topic(spark, properties, topic_now(properties))
        took(lambda: _bare(events))  # the first tasks start Spark's workers
        found: dict[str, Took] = {}
        with watched() as seen:
            work = {
                "events, bare read and count": lambda: _bare(events),
                "events, ingested": lambda: _ingest(tables, properties, f"{folder}/first"),
                "events, ingested again, all known": lambda: _ingest(tables, properties, f"{folder}/second"),
                "offsets topic, bare read and count": lambda: _bare(offsets),
                "offsets topic, generations decoded into events": lambda: _backfill(offsets, properties),
            }
            table(("", "events, records or generations", "seconds", "a second", "CPU ms each"), _rows(work, found))
        _show(list(found.values()), total, seen.memory)


def _rows(work: Mapping[str, Callable[[], int]], found: dict[str, Took]) -> Iterator[tuple[object, ...]]:
    for name, do in work.items():
        found[name] = each = took(do)
        yield name, each.count, each.seconds, each.count / each.seconds, 1e3 * each.cpu / each.count


def _fill_events(bootstrap: str, folder: Path, scale: float) -> None:
    write_fleet(folder / "events", round(GENERATIONS * scale))
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(EVENTS_TOPIC, EVENTS_PARTITIONS, 1)])[EVENTS_TOPIC].result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "log_level": 0, "compression.type": "zstd"})
    for key, line in _events(folder / "events"):
        enqueue(producer, EVENTS_TOPIC, key=key, value=line)
    producer.flush()


def _events(folder: Path) -> Iterator[tuple[bytes, bytes]]:
    for path in sorted(folder.glob("events-*")):
        with gzip.open(path) as lines:
            for line in lines:
                yield path.name.encode(), line.rstrip(b"\n")


def _bare(frame: DataFrame) -> int:
    count, _ = frame.agg(F.count("*"), F.sum(F.length("value"))).collect()[0]
    return int(count)


def _ingest(tables: DeltaTables, properties: dict[str, str], checkpoint: str) -> int:
    stream = events_of_topic(tables.spark, properties, EVENTS_TOPIC, records_max=RECORDS_MAX)
    return ingest_stream(tables, stream, StreamSettings(checkpoint), SystemClock(), threading.Event()).events


def _backfill(offsets: DataFrame, properties: dict[str, str]) -> int:
    rows = replayed(offsets, topic_now(properties).facts)
    return count_rows(rows.where("kind = 'generation'")).events


def _show(found: Sequence[Took], total: int, memory: Mapping[str, float]) -> None:
    bare, ingested, _again, bare_offsets, emitted = found
    print(f"\nIngest takes {ingested.cpu / bare.cpu:.1f} times the CPU of the bare read of the same topic.")
    print(
        f"Backfill takes {emitted.cpu / bare_offsets.cpu:.1f} times that of {total} records, "
        f"{total / emitted.seconds:.0f}/s."
    )
    print("Peak memory:", ", ".join(f"{name} {mib:.0f} MiB" for name, mib in sorted(memory.items())))
