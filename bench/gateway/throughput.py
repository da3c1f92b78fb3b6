"""Measures throughput, CPU, added latency and memory of the gateway, compared with none and with a plain forwarder.

The three paths lead to the same broker and are measured in turn in the same run, bulk data in rounds and calls one by
one, so that other load of the machine affects all of them. Bulk data is read by a real consumer, which takes most of
the time itself, and by sockets that discard the data, which show the maximum throughput. No network is as fast as the
loopback interface.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.gateway.gateway_clients import FETCH_BYTES, call_seconds, connected, fetch, produce, read_bulk
from bench.measure import percentile, table
from bench.synthetic import enqueue
from rebalance_agent.testing import EmbeddedKafka

BULK, SMALL = "bulk", "small"
BULK_BYTES = 384 * 1024 * 1024
ROUNDS = 6
BYTES_PER_ROUND = 1024 * 1024 * 1024
CONSUMERS = 7
CALLS = 2_000
PAUSE_S = 0.002
CONNECTIONS = (1, 10, 100)
REAL = 0
"""Key for a real consumer, in place of a number of connections."""

GB = 10**9
MIB = 2**20
END_S = 10


class Way:
    """One path to the broker: its address, the process in between, and its results by number of connections."""

    def __init__(self, name: str, port: int, pid: int | None, bootstrap: str = "") -> None:
        self.name, self.port, self.bootstrap = name, port, bootstrap
        self._process = psutil.Process(pid) if pid else None
        self.rates: dict[int, list[float]] = defaultdict(list)
        self.cpu: dict[int, float] = defaultdict(float)
        self.moved: dict[int, int] = defaultdict(int)
        self.calls: dict[tuple[str, int], list[float]] = defaultdict(list)

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of the process in between, so far; 0 if there is none."""
        if self._process is None:
            return 0.0
        times = self._process.cpu_times()
        return times.user + times.system

    def resident_mib(self) -> float:
        """Return the resident memory of the process in between, in MiB; 0 if there is none."""
        return self._process.memory_info().rss / MIB if self._process else 0.0

    def resident_mib_max(self) -> float:
        """Return the peak of `resident_mib`."""
        if self._process is None:
            return 0.0
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


@contextlib.contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a process and end it when the block ends."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def forwarder(broker_port: int) -> Iterator[Way]:
    """Start the plain forwarder."""
    command = [sys.executable, "-m", "bench.gateway.forwarder", "127.0.0.1", str(broker_port)]
    with running(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with process.stdout:
            yield Way("forwarder", int(process.stdout.readline()), process.pid)


@contextlib.contextmanager
def gateway(bootstrap: str, *flags: str) -> Iterator[Way]:
    """Start the gateway with its command, further ``flags``, and a rule for groups that do not exist here."""
    listen, base = free_ports()
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "gateway", "--bootstrap-servers", bootstrap]
    command += ["--listen", "127.0.0.1:0", "--events-listen", "127.0.0.1:0", "--gateway-drain-seconds", "0"]
    command += ["--gateway-listen", f"127.0.0.1:{listen}", "--gateway-port-base", str(base), "--log-level", "warning"]
    command += ["--gateway-groups", "orders=weighted-sticky", *flags]
    with running(command, env={**os.environ, "PYTHONWARNINGS": "ignore"}) as process:
        wait_for(base + 1)
        yield Way("gateway", base + 1, process.pid, f"127.0.0.1:{listen}")


def free_ports() -> tuple[int, int]:
    """Return two free ports, for bootstrap and as the base of brokers' ports, below the system's ephemeral ports.

    The ports are random, so that another process that searches at the same time finds other ports.
    """
    for port in random.sample(range(20_000, 30_000, 10), 1_000):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for each in (port, port + 2):
                stack.enter_context(socket.create_server(("127.0.0.1", each)))
            return port, port + 1
    raise SystemExit("no free ports")


def wait_for(port: int) -> None:
    """Wait until the port accepts connections."""
    for _ in range(200):
        with contextlib.suppress(OSError), connected(port, 1):
            return
        sleep(0.1)
    raise SystemExit(f"no process listens on port {port}")


def fill(bootstrap: str) -> None:
    """Create the topics, and write the records that are read later."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(BULK, 1, 1), NewTopic(SMALL, 1, 1)]).values():
        future.result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 900_000})
    value = os.urandom(10_000)
    for _ in range(BULK_BYTES // len(value)):
        enqueue(producer, BULK, value=value)
    producer.produce(SMALL, b"x" * 500)
    producer.flush()


def bulk(way: Way, number: int, size: int) -> None:
    """Read ``size`` bytes over ``number`` connections; add rate and CPU to ``way``."""
    with connected(way.port, number) as sockets:
        cpu = way.cpu_seconds()
        moved, seconds = read_bulk(sockets, fetch(BULK, 0, FETCH_BYTES), size)
        way.cpu[number] += way.cpu_seconds() - cpu
    way.moved[number] += moved
    way.rates[number].append(moved / seconds / MIB)


def calls(ways: Sequence[Way], number: int, times: int) -> None:
    """Time small fetches and produces at a moderate rate, in turn over all ``ways`` and their connections."""
    buffer = bytearray(65_536)
    with contextlib.ExitStack() as stack:
        sockets = {way: stack.enter_context(connected(way.port, number)) for way in ways}
        for name, asked in (("fetch", fetch(SMALL, 0, 1_000)), ("produce", produce(SMALL, b"x" * 500))):
            for turn in range(-number, times):  # the first call of each connection is slower
                for way in turned(ways, turn):
                    took = call_seconds(sockets[way][turn % number], asked, buffer)
                    if turn >= 0:
                        way.calls[name, number].append(took * 1e3)
                    sleep(PAUSE_S / len(ways))


def turned(ways: Sequence[Way], turn: int) -> Sequence[Way]:
    """Return ``ways`` rotated by ``turn``, so that each path is the first in turn."""
    at = turn % len(ways)
    return [*ways[at:], *ways[:at]]


def consumed(way: Way, size: int) -> None:
    """Read about ``size`` bytes with a real consumer, from the first record of the topic on."""
    consumer = Consumer(
        {
            "bootstrap.servers": way.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": FETCH_BYTES,
            "queued.max.messages.kbytes": 65_536,
        }
    )
    consumer.list_topics(BULK)
    got, start, cpu = 0, perf_counter(), way.cpu_seconds()
    consumer.assign([TopicPartition(BULK, 0, 0)])
    while got < size:
        got += sum(len(message.value() or b"") for message in consumer.consume(1_000, 1.0))
    way.rates[REAL].append(got / (perf_counter() - start) / MIB)
    way.cpu[REAL] += way.cpu_seconds() - cpu
    way.moved[REAL] += got
    consumer.close()


def memory(way: Way, number: int) -> tuple[object, ...]:
    """Return a row with the resident memory after ``number`` connections have read 1 MiB each, one after the other."""
    buffer = bytearray(2 * FETCH_BYTES)
    with connected(way.port, number) as sockets:
        for each in sockets:
            call_seconds(each, fetch(BULK, 0, FETCH_BYTES), buffer)
        return way.name, number, way.resident_mib(), way.resident_mib_max()


def main(scale: float = 1.0) -> None:
    """Measure and print the tables; ``scale`` multiplies the bytes read and the calls timed."""
    with EmbeddedKafka() as kafka:
        fill(kafka.bootstrap_servers)
        broker_port = int(kafka.bootstrap_servers.rpartition(":")[2])
        direct = Way("direct", broker_port, None, kafka.bootstrap_servers)
        with forwarder(broker_port) as plain, gateway(kafka.bootstrap_servers) as ours:
            ways = (direct, plain, ours)
            idle = [memory(way, number) for way in (plain, ours) for number in CONNECTIONS]
            for number in CONNECTIONS:
                bulk(direct, number, FETCH_BYTES)  # warms up the broker
                for turn in range(ROUNDS):
                    for way in turned(ways, turn):
                        bulk(way, number, round(BYTES_PER_ROUND * scale))
                direct.rates[number].pop(0)
                calls(ways, number, max(1, round(CALLS * scale)))
            for turn in range(CONSUMERS):
                # The forwarder is left out, because its clients would get the broker's own address from the metadata.
                for way in turned((direct, ours), turn):
                    consumed(way, round(BULK_BYTES * 0.95 * min(1.0, scale)))
            show(ways, direct)
            print()
            table(("way", "connections", "resident MiB", "at most"), idle)
            print()
            table(
                ("way", "at most in the whole run, MiB"), [(way.name, way.resident_mib_max()) for way in (plain, ours)]
            )


def show(ways: Sequence[Way], direct: Way) -> None:
    """Print the tables of throughput and latency."""
    rows = []
    for number in (REAL, *CONNECTIONS):
        bare = statistics.median(direct.rates[number])
        for way in ways:
            if way.rates[number]:
                rate = statistics.median(way.rates[number])
                who = "confluent-kafka" if number == REAL else f"sockets, {number}"
                rows.append((who, way.name, rate, rate / bare, way.cpu[number] / way.moved[number] * GB))
    table(("reader", "way", "MiB/s", "of direct", "CPU-s per GB"), rows)
    print()
    header = ["connections", "way"]
    for name in ("fetch", "produce"):
        for share in (0.5, 0.99):
            header += [f"{name} p{share * 100:.0f} ms", "added"]
    table(header, [latency(way, direct, number) for number in CONNECTIONS for way in ways])


def latency(way: Way, direct: Way, number: int) -> list[object]:
    """Return a row of the table of latencies."""
    row: list[object] = [number, way.name]
    for name in ("fetch", "produce"):
        for share in (0.5, 0.99):
            took, bare = (percentile(each.calls[name, number], share) for each in (way, direct))
            row += [took, took - bare]
    return row


if __name__ == "__main__":
    main()
