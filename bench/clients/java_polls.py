"""Measures the calls of poll() of a Java consumer with the client jar (``clients-java``), compared with a bare one.

Each round runs both consumers, one after the other and each in its own process: with records, and then many calls
without. The jar's sidecar is absent, or is a small server that accepts every event. The table has the medians over the
rounds, and for the jar the median difference from the bare consumer of the same round.
"""

from __future__ import annotations

import contextlib
import importlib
import statistics
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.measure import table
from bench.synthetic import enqueue
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.java import java_runtime

RECORDS = 500_000
EMPTY_CALLS = 100_000
ROUNDS = 9
PARTITIONS = 4
TOPIC = "polls"
RUN_S = 300
HERE = Path(__file__).parent
FIGURES = ("poll() with records, p50 µs", "p99 µs", "without records, p50 µs", "p99 µs", "CPU of the main thread, s")
_SCALES = (1e3, 1e3, 1e3, 1e3, 1e9)
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_BARE = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}
_ABSENT = "http://127.0.0.1:1/v1/events"


class _Accepting(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def sidecar() -> Iterator[str]:
    """Run a server that accepts every event; yield the URL for the jar."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Accepting) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/events"
        server.shutdown()


def _jar() -> Any:
    sys.path[:0] = [str(HERE.parents[1] / "tests")]
    return importlib.import_module("support.java.client_jar")


def _instrumented(jar: Any, url: str) -> dict[str, str]:
    return {
        "partition.assignment.strategy": jar.WRAPPER,
        "metric.reporters": jar.REPORTER,
        "rebalance.agent.events.url": url,
    }


def polled(class_path: str, bootstrap: str, records: int, empty: int, properties: dict[str, str]) -> list[float]:
    """Run one consumer; return its `FIGURES`."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": uuid.uuid4().hex,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "key.deserializer": _DESERIALIZER,
        "value.deserializer": _DESERIALIZER,
        **properties,
    }
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    numbers = [str(records), str(empty), *map("=".join, settings.items())]
    command = [str(java_runtime().java), *flags, "-cp", class_path, "TimedPolls", TOPIC, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the consumer failed:\n{done.stderr[-2000:]}")
    return [int(text) / scale for text, scale in zip(done.stdout.split(), _SCALES, strict=True)]


def fill(bootstrap: str, records: int) -> None:
    """Create the topic, and write its records."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(records):
        enqueue(producer, TOPIC, value=bytes(100), partition=number % PARTITIONS)
    producer.flush()


def main(scale: float = 1.0) -> None:
    """Measure and print the table; ``scale`` multiplies records, calls and rounds."""
    jar, records, empty = _jar(), max(5_000, round(RECORDS * scale)), max(1_000, round(EMPTY_CALLS * scale))
    with tempfile.TemporaryDirectory() as folder, EmbeddedKafka() as kafka, sidecar() as url:
        class_path = jar.compiled_sources(java_runtime().jars, Path(folder, "classes"), jar.SOURCES, HERE / "java")
        fill(kafka.bootstrap_servers, records)
        variants = {
            "bare": _BARE,
            "bare again": _BARE,
            "jar, no sidecar": _instrumented(jar, _ABSENT),
            "jar, sidecar answers": _instrumented(jar, url),
        }
        results: dict[str, list[list[float]]] = {name: [] for name in variants}
        for turn in range(max(1, round(ROUNDS * scale))):
            names = list(variants)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                results[name].append(polled(class_path, kafka.bootstrap_servers, records, empty, variants[name]))
        header = [part for figure in FIGURES for part in (figure, "more")]
        table(("consumer", *header), [_row(name, results) for name in variants])


def _row(name: str, results: dict[str, list[list[float]]]) -> list[object]:
    row: list[object] = [name]
    for number in range(len(FIGURES)):
        values = [each[number] for each in results[name]]
        bare = [each[number] for each in results["bare"]]
        row += [statistics.median(values), statistics.median(one - two for one, two in zip(values, bare, strict=True))]
    return row


if __name__ == "__main__":
    main()
