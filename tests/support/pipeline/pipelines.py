"""Produces events while a stream reads them; the stream is a process that can be killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer

from support.observer.observing import eventually

LINES = (Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson").read_bytes().splitlines()
ANY_AGE = 36_500
"""A maximum age (days) that the events of `LINES` never exceed."""
START_S = 300
"""Longest time (seconds) to start Java, Spark and Delta and to end a first batch, on a busy machine."""
AGENT = Path(__file__).parents[3] / "agent"
SHORT_LIVED = {
    # Compiling Java and generated code takes three quarters of the time that the tests' few rows take.
    # Without a size, the classes of Spark and Delta cause five collections of the whole heap.
    "spark.driver.defaultJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -XX:MetaspaceSize=256m"
    ),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The rows differ too little between partitions for a changed plan to pay off.
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Spark writes every plan as text for a page that is not served, so in the shorter form.
    "spark.sql.ui.explainMode": "simple",
}
"""Spark properties of sessions that live for a test or two."""


@dataclass
class Reported:
    """Produced data: event ids with their highest revision, and the invalid values."""

    revisions: dict[str, int] = field(default_factory=dict)
    odd: list[bytes] = field(default_factory=list)


@contextmanager
def producing(bootstrap, topic, *, seed, per_second=50):
    """Produces real events with new ids: most once, some twice, late, revised, malformed or too new."""
    reported, stop, chance = Reported(), threading.Event(), random.Random(seed)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})

    def run():
        number = 0
        while not stop.wait(10 / per_second):
            for _ in range(10):
                number += 1
                for value in _values(reported, chance, number):
                    producer.produce(topic, value, key=b"captured:group")
        assert producer.flush(60) == 0

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield reported
    finally:
        stop.set()
        thread.join(60)


def _values(reported, chance, number):
    event = json.loads(chance.choice(LINES)) | {"event_id": f"{number:032x}", "revision": 0}
    if chance.random() < 0.05:
        odd = chance.choice([b"no JSON %d" % number, _line(event | {"schema_version": 2, "event_id": f"new {number}"})])
        reported.odd.append(odd)
        yield odd
    reported.revisions[event["event_id"]] = 0
    yield _line(event)
    if chance.random() < 0.1:
        yield _line(event)
    if chance.random() < 0.1 and number > 50:
        # A revision of an old event, and then its first version again.
        past = json.loads(chance.choice(LINES)) | {"event_id": f"{number - 50:032x}"}
        reported.revisions[past["event_id"]] = 1
        yield _line(past | {"revision": 1})
        yield _line(past | {"revision": 0})


def _line(event):
    return json.dumps(event).encode()


class Ingest:
    """``rebalance-agent pipeline ingest`` that runs until it is killed."""

    def __init__(self, bootstrap, topic, tables, log, every_s=0):
        self.log = log
        arguments = ["--bootstrap-servers", bootstrap, "--topic", topic, "--tables", str(tables), f"--every={every_s}"]
        arguments += ["--max-age-days", str(ANY_AGE)]
        spark = ["--master", "local[1]", "--driver-memory", "512m", "--records", "300"]
        for name, value in SHORT_LIVED.items():
            spark += ["--spark", f"{name}={value}"]
        # It ends with these tests, however they end.
        program = ["rebalance_agent.demo.processes.exit_with_parent", "rebalance_agent.cli.main", "pipeline", "ingest"]
        command = [sys.executable, "-m", *program, *arguments, *spark]
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                command,
                cwd=log.parent,  # where Spark leaves a folder if it cannot tidy up
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(AGENT)},
            )

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        """Send SIGKILL to Python, Java and the workers at once."""
        with suppress(ProcessLookupError):  # it has ended by itself, and Java with it
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        self.process.stdin.close()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(120)
        self.process.stdin.close()
        return status


def commits(tables):
    """The number of transactions of the table of events."""
    return len(list(Path(tables, "events", "_delta_log").glob("*.json")))


def kill_at_random(bootstrap, topic, tables, log, *, times, seed):
    """Start the stream ``times`` times, and kill each run at a random time after its first merge."""
    chance, pause = random.Random(seed), threading.Event()
    for _ in range(times):
        before = max(commits(tables), 1)  # the very first creates the table
        stream = Ingest(bootstrap, topic, tables, log)

        def works(stream=stream, before=before):
            assert stream.alive(), log.read_text()[-4000:]
            return commits(tables) > before

        try:
            eventually(works, START_S, waiting_for=log)
            pause.wait(chance.uniform(0, 4))
            assert stream.alive(), log.read_text()[-4000:]
        finally:
            stream.kill()


def assert_exactly_once(tables, reported):
    """Assert that each event is one row in its best revision, and each invalid value is kept with a reason."""
    rows = tables.read("events").select("event_id", "revision").collect()
    assert len(rows) == len(reported.revisions)
    assert {row["event_id"]: row["revision"] for row in rows} == reported.revisions
    rejected = tables.read("events_rejected").select("value", "reason").collect()
    assert sorted(bytes(row["value"]) for row in rejected) == sorted(reported.odd)
    for row in rejected:
        newer = b"schema_version" in bytes(row["value"])
        assert row["reason"].startswith("newer_schema: " if newer else "malformed: ")


EQUAL = (
    "cluster_id", "group", "group_type", "timestamp_ms", "generation", "previous_generation", "assignor", "protocol",
    "topics", "moved", "assigned", "unassigned", "noop", "skew_ratio", "imbalance",
)  # fmt: skip
"""Fields of a generation that are equal in both sources; start, stall, trigger and departures may be weaker in one."""


def generations(reported):
    """By id, the fields that are the same for observed generations and for those of backfill."""
    return {each["event_id"]: _facts_of(each) for each in reported if each["kind"] == "generation"}


def _facts_of(reported):
    members = [(each["member_id"], each["owned"], each["assigned"], each["topics"]) for each in reported["members"]]
    # Partitions of members that certainly failed are not counted as revoked.
    given_up = reported.get("revoked", 0) + reported.get("lost_min", 0)
    return {name: reported.get(name) for name in EQUAL} | {"members": members, "given_up": given_up}


def stored(tables):
    """All events of the table."""
    return [json.loads(row["body"]) for row in tables.read("events").collect()]
