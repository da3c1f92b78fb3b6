"""The pipeline's stream during a run: it is killed and restarted, and its tables are compared with the topic."""

from __future__ import annotations

import threading
from contextlib import suppress

import psutil

from chaos.verdict.exactly_once import refused, unlike
from chaos.verdict.verdict import Verdict
from rebalance_agent.clock import SystemClock
from rebalance_agent.pipeline.ingest.ingest_events import checkpoint_of, events_of_topic
from rebalance_agent.pipeline.ingest.streaming import StreamSettings, ingest_stream
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from support.pipeline.pipelines import SHORT_LIVED, Ingest, commits

EVERY_S = 10
NICE = 10
"""Spark's niceness, below brokers and consumers: its start alone takes half a minute of a processor."""

RECORDS = 50_000


class Stream:
    """``rebalance-agent pipeline ingest`` of the topic of events into tables of its own."""

    def __init__(self, bootstrap, topic, folder):
        self._bootstrap, self._topic = bootstrap, topic
        self._tables, self._log = folder / "tables", folder / "stream.log"
        self._ingest = None
        self._killed_after, self._ended = [], 0

    def start(self):
        """Start a process that continues from the checkpoint."""
        self._ingest = Ingest(self._bootstrap, self._topic, self._tables, self._log, every_s=EVERY_S)
        with suppress(psutil.Error):  # it has ended already, as `look` will find
            process = psutil.Process(self._ingest.process.pid)
            process.nice(max(NICE, process.nice()))

    def look(self):
        """Restart it if it ended by itself, as operators do: brokers may be unavailable for too long."""
        if self._ingest is not None and not self._ingest.alive():
            self._ended += 1
            self.end()
            self.start()

    def kill(self):
        """Send SIGKILL to Python and Java. A process that had ended before did so by itself."""
        if self._ingest.alive():
            self._killed_after.append(commits(self._tables))
        else:
            self._ended += 1
        self.end()

    def end(self):
        """Kill the process of the stream."""
        if self._ingest is not None:
            self._ingest.kill()
            self._ingest = None

    def judge(self, published):
        """Kill it once more, read what is left, and compare the tables with ``published``, the topic's values."""
        self.kill()
        settings = SessionSettings(master="local[2]", driver_memory="1g", partitions=2, more=SHORT_LIVED)
        with open_session(settings) as spark:
            tables = DeltaTables(spark, str(self._tables))
            properties = {"bootstrap.servers": self._bootstrap}
            records = events_of_topic(spark, properties, self._topic, records_max=RECORDS)
            where = StreamSettings(checkpoint_of(tables, properties, self._topic))
            ingest_stream(tables, records, where, SystemClock(), threading.Event())
            rows = [tuple(row) for row in tables.read("events").select("event_id", "revision", "body").collect()]
            rejected = [bytes(row["value"]) for row in tables.read("events_rejected").select("value").collect()]
        after = ", ".join(map(str, self._killed_after))
        what = (
            f"stream: {len(rows)} events in its table of {len(published)} records; killed {len(self._killed_after)} "
            f"times (when its table had {after} transactions), ended by itself {self._ended} times"
        )
        return Verdict(what, tuple(f"stream: {each}" for each in [*unlike(rows, published), *refused(rejected)]))
