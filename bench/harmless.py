"""What a consumer's code feels of being instrumented: the same program bare and instrumented, in turns at one broker.

Each round runs every variant once, in an order of its own, as a process of its own (`bench.harmless_member`): it goes
through rebalances as another member joins and leaves, and reads a topic while what it had to tell is still being sent.
The bare program runs twice in each round: what these two differ by is noise, and nothing is told apart that is smaller.
"""

from __future__ import annotations

import contextlib
import random
import socket
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter, sleep
from urllib.error import URLError
from urllib.request import urlopen

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.harmless_member import CLIENTS
from bench.measure import in_process, table
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.settings import free_ports

TOPIC = "orders"
PARTITIONS = 12
RECORDS = 200_000
RECORD_BYTES = 100
REBALANCES = 6
ROUNDS = 7
"""Of seven pairs the middle one lies between the smallest and the largest with 98 % (1 - 2 / 2**7)."""

PATIENCE_S = 60.0

BARE, AGAIN = "bare", "bare, again"
ABSENT = "instrumented, no sidecar"

MEASURES: Mapping[str, str] = {
    "poll_p50_us": "poll p50 us",
    "poll_p99_us": "poll p99 us",
    "records_s": "records / s",
    "rebalance_ms": "rebalance ms",
    "cpu_s": "CPU s of reading",
    "rss_mib": "memory MiB",
}


def main(scale: float = 1.0) -> None:
    """Print two tables for each client."""
    rounds, records = max(2, min(ROUNDS, round(ROUNDS * scale * 10))), max(1_000, round(RECORDS * scale))
    with EmbeddedKafka(properties={"group.min.session.timeout.ms": "1000"}) as kafka, contextlib.ExitStack() as stack:
        _filled(kafka.bootstrap_servers, records)
        variants = {
            BARE: None,
            AGAIN: None,
            "instrumented, sidecar well": stack.enter_context(_well(kafka.bootstrap_servers)),
            ABSENT: _url(free_ports(1)[0]),
            "instrumented, sidecar hangs": stack.enter_context(_hanging()),
            "instrumented, sidecar answers 500": stack.enter_context(_failing()),
        }
        for client in CLIENTS:
            print(f"\n### {client}: {rounds} rounds of {REBALANCES} rebalances and {records:,} records\n", flush=True)
            shown(*compared(client, kafka.bootstrap_servers, variants, rounds, records))


def compared(
    client: str, bootstrap: str, variants: Mapping[str, str | None], rounds: int, records: int
) -> tuple[dict[str, list[dict[str, float]]], int]:
    """What each variant measured, a dict a round."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for number in range(rounds):
        order = list(variants)
        random.Random(number).shuffle(order)
        for name in order:
            group = f"{client}-{number}-{order.index(name)}"
            given = (client, bootstrap, TOPIC, group, str(records), str(REBALANCES), variants[name] or "")
            found[name].append(in_process("bench.harmless_member", *given))
    return found, rounds


def shown(found: Mapping[str, list[dict[str, float]]], rounds: int) -> None:
    """The medians, and below them how each round's figure compares with the bare one of the same round."""
    medians = [
        (name, *(statistics.median(row[key] for row in rows) for key in MEASURES)) for name, rows in found.items()
    ]
    table(("median", *MEASURES.values()), medians)
    print()
    ratios = [
        (
            name,
            *(_ratio([row[key] / bare[key] for row, bare in zip(rows, found[BARE], strict=True)]) for key in MEASURES),
        )
        for name, rows in found.items()
        if name != BARE
    ]
    sure = 1 - 2 / 2**rounds
    table((f"of bare: median (where it lies with {sure:.0%})", *MEASURES.values()), ratios)


def _ratio(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} - {max(values):.3f})"


def _filled(bootstrap: str, records: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    producer, chance = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "log_level": 0}), random.Random(1)
    for number in range(records):
        producer.produce(TOPIC, chance.randbytes(RECORD_BYTES), partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush()


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1/events"


@contextlib.contextmanager
def _well(bootstrap: str) -> Iterator[str]:
    """A sidecar as users run it, with the broker to publish to."""
    web, events = free_ports(2)
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "sidecar", "--bootstrap-servers", bootstrap]
    listening = ("--listen", f"127.0.0.1:{web}", "--events-listen", f"127.0.0.1:{events}", "--log-level", "error")
    process = subprocess.Popen([*command, *listening])
    try:
        _wait(lambda: _answers(f"http://127.0.0.1:{web}/readyz"))
        yield _url(events)
    finally:
        process.terminate()
        process.wait(30)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, ConnectionError):
        return False


def _wait(condition: Callable[[], bool]) -> None:
    end = perf_counter() + PATIENCE_S
    while not condition():
        if perf_counter() > end:
            raise SystemExit("the sidecar does not become ready")
        sleep(0.1)


@contextlib.contextmanager
def _hanging() -> Iterator[str]:
    """Takes connections and posts, and never answers: the kernel does it alone."""
    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listener:
        yield _url(listener.getsockname()[1])


class _Fails(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None: ...


@contextlib.contextmanager
def _failing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fails) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield _url(server.server_port)
        finally:
            server.shutdown()
            thread.join()
