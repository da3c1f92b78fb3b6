"""Measures a day of micro-batches, one every five minutes: number of files, duration, and files after `maintain`.

The stream is a real one and runs as fast as it can; each batch has the events of five minutes. The first Ctrl-C ends it
early, and the batches so far are counted.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.measure import say, table
from rebalance_agent.clock import SystemClock
from rebalance_agent.model.event_json import json_line
from rebalance_agent.pipeline.ingest.ingest_events import Ingested, events_of_topic
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.runtime.processes.signals import stop_on_signals
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.synthetic.fleet_plan import MONDAY_MS, FleetPlan
from rebalance_agent.testing.synthetic.synthetic_history import history

BATCHES = 288
"""Number of micro-batches in a day, one every five minutes."""

EVENTS = 175
"""Number of events in five minutes from a thousand groups that rebalance fifty times a day."""

REPORTED_EVERY = 24
TOPIC = "rebalance-events"
CORES = 2


def main(scale: float = 1.0) -> None:
    """Stream a day, or a part of it."""
    batches = max(2, round(BATCHES * scale))
    with (
        EmbeddedKafka() as kafka,
        tempfile.TemporaryDirectory(prefix="bench-files-") as folder,
        open_session(SessionSettings(master=f"local[{CORES}]"), "bench") as spark,
    ):
        say(f"filling the topic with {batches * EVENTS:,} events")
        _fill(kafka.bootstrap_servers, batches * EVENTS)
        tables = DeltaTables(spark, f"{folder}/tables")
        stream = events_of_topic(spark, {"bootstrap.servers": kafka.bootstrap_servers}, TOPIC, records_max=EVENTS)
        ends = [perf_counter()]

        def passed(_done: Ingested) -> None:
            ends.append(perf_counter())
            if len(ends) % REPORTED_EVERY == 0:
                say(f"{len(ends) - 1:,} of {batches:,} batches, {ends[-1] - ends[0]:.0f} s")

        stop = threading.Event()
        with stop_on_signals(stop):  # count the batches so far
            ingest_stream(tables, stream, StreamSettings(f"{folder}/checkpoint"), SystemClock(), stop, passed)
        _show([after - before for before, after in pairwise(ends[1:])])  # the first batch creates the table
        table(
            ("", "files of the table", "files on disk", "of its log", "of the checkpoint"), _rows(tables, Path(folder))
        )


def _show(lengths: Sequence[float]) -> None:
    tenth = len(lengths) // 10 + 1
    whole, first, last = map(statistics.median, (lengths, lengths[:tenth], lengths[-tenth:]))
    print(
        f"{len(lengths) + 1} batches of {EVENTS} events; a batch takes {whole:.2f} s "
        f"(median; the first tenth {first:.2f} s, the last {last:.2f} s).\n"
    )


def _rows(tables: DeltaTables, folder: Path) -> Iterator[tuple[object, ...]]:
    yield "after the day", *_counts(tables, folder)
    tables.compact("events")
    yield "after maintain", *_counts(tables, folder)


def _counts(tables: DeltaTables, folder: Path) -> tuple[int, int, int, int]:
    events = folder / "tables" / "events"
    log = sum(each.is_file() for each in (events / "_delta_log").rglob("*"))
    data = sum(each.suffix == ".parquet" for each in events.glob("day=*/*"))
    return tables.files("events"), data, log, sum(each.is_file() for each in (folder / "checkpoint").rglob("*"))


def _fill(bootstrap: str, count: int) -> None:
    """Write events of one day, in order of time."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
    since_ms = MONDAY_MS + (SystemClock().now_ms() - MONDAY_MS) // (7 * 86_400_000) * 7 * 86_400_000
    events: list[tuple[int, bytes]] = []
    fleet = FleetPlan(100_000, 1, seed=7, since_ms=since_ms)
    number = 0
    while len(events) < count:
        of_group = ((each.timestamp_ms, json_line(each)) for each in history(fleet, number))
        events += [each for each in of_group if each[0] // 86_400_000 == since_ms // 86_400_000]
        number += 1
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "log_level": 0})
    for _, line in sorted(events)[:count]:
        producer.produce(TOPIC, value=line)
        producer.poll(0)
    producer.flush()
