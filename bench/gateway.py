"""What the gateway costs: throughput, CPU, added latency and memory, beside no gateway and beside a plain forwarder.

All three ways lead to the same broker in the same run, in turn, several rounds each. The client is a socket with frames
made beforehand: a real client would be the slowest part, and hide what is measured.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter, sleep

import psutil
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record import MemoryRecordsBuilder

from bench.measure import percentile, table
from rebalance_agent.testing import EmbeddedKafka

BULK, SMALL = "bulk", "small"
BULK_BYTES = 100 * 1024 * 1024
FETCH_BYTES = 1024 * 1024
ROUNDS = 5
BYTES_PER_ROUND = 512 * 1024 * 1024
CALLS = 1_500
PAUSE_S = 0.002
CONNECTIONS = (1, 10, 100)
GB = 1024**3


class Way:
    """One way to the broker: an address, and the process in between."""

    def __init__(self, name: str, port: int, process: psutil.Process | None, bootstrap: str) -> None:
        self.name, self.port, self.process, self.bootstrap = name, port, process, bootstrap
        self.rates: list[float] = []
        self.cpu = 0.0
        self.moved = 0
        self.fetches: list[float] = []
        self.produces: list[float] = []

    def cpu_seconds(self) -> float:
        """Of the process in between."""
        if self.process is None:
            return 0.0
        times = self.process.cpu_times()
        return times.user + times.system

    def rss_mib(self) -> float:
        """Of the process in between."""
        return self.process.memory_info().rss / 2**20 if self.process else 0.0


def framed(message: object, correlation_id: int) -> bytes:
    """A request of kafka-python's as it goes over the wire."""
    message.with_header(correlation_id=correlation_id, client_id="bench")
    return bytes(message.encode(header=True, framed=True))


def fetch(topic: str, offset: int, size: int) -> bytes:
    """Fetch v4 of partition 0."""
    partition = FetchRequest.FetchTopic.FetchPartition(
        version=4, partition=0, fetch_offset=offset, partition_max_bytes=size
    )
    asked = FetchRequest.FetchTopic(version=4, topic=topic, partitions=[partition])
    return framed(
        FetchRequest(
            version=4, replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=size, isolation_level=0, topics=[asked]
        ),
        1,
    )


def produce(topic: str, records: bytes) -> bytes:
    """Produce v9 to partition 0, acknowledged by the leader."""
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(version=9, index=0, records=records)
    data = ProduceRequest.TopicProduceData(version=9, name=topic, partition_data=[partition])
    return framed(ProduceRequest(version=9, transactional_id=None, acks=1, timeout_ms=5_000, topic_data=[data]), 1)


def connect(port: int) -> socket.socket:
    """A connection that sends at once."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(connection: socket.socket, buffer: bytearray) -> int:
    """Read one answer into ``buffer``; its size."""
    view, got = memoryview(buffer), 0
    while got < 4:
        got += connection.recv_into(view[got:4])
    (size,) = struct.unpack_from(">i", buffer)
    got = 0
    while got < size:
        read = connection.recv_into(view[: min(len(view), size - got)])
        if not read:
            raise SystemExit("the connection ended inside an answer")
        got += read
    return size + 4


def bulk(way: Way, size: int) -> None:
    """Read ``size`` bytes with two requests under way at a time."""
    buffer = bytearray(FETCH_BYTES)
    with contextlib.closing(connect(way.port)) as connection:
        asked = fetch(BULK, 0, FETCH_BYTES)
        cpu, start, moved = way.cpu_seconds(), perf_counter(), 0
        connection.sendall(asked)
        while moved < size:
            connection.sendall(asked)
            moved += receive(connection, buffer)
        moved += receive(connection, buffer)
        way.rates.append(moved / (perf_counter() - start) / 2**20)
    way.cpu += way.cpu_seconds() - cpu
    way.moved += moved


def calls(way: Way, records: bytes, number: int) -> None:
    """Small fetches and produces at a moderate rate: how long each takes."""
    buffer = bytearray(65_536)
    with contextlib.closing(connect(way.port)) as connection:
        for asked, times in ((fetch(SMALL, 0, 1_000), way.fetches), (produce(SMALL, records), way.produces)):
            for _ in range(number):
                start = perf_counter()
                connection.sendall(asked)
                receive(connection, buffer)
                times.append((perf_counter() - start) * 1e3)
                sleep(PAUSE_S)


@contextlib.contextmanager
def forwarder(broker_port: int) -> Iterator[Way]:
    """Through the plain forwarder."""
    command = [sys.executable, "-m", "bench.forwarder", "127.0.0.1", str(broker_port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield Way("forwarder", int(process.stdout.readline()), psutil.Process(process.pid), "")
        process.kill()


@contextlib.contextmanager
def gateway(bootstrap: str) -> Iterator[Way]:
    """Through the gateway as it is started on a command line, with no group configured."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        listen, base = one.getsockname()[1], two.getsockname()[1] - 1
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "gateway", "--bootstrap-servers", bootstrap]
    command += ["--listen", "127.0.0.1:0", "--events-listen", "127.0.0.1:0", "--gateway-drain-seconds", "0"]
    command += ["--gateway-listen", f"127.0.0.1:{listen}", "--gateway-port-base", str(base), "--log-level", "warning"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(command, env=environment) as process:
        wait_for(base + 1)
        yield Way("gateway", base + 1, psutil.Process(process.pid), f"127.0.0.1:{listen}")
        process.send_signal(signal.SIGTERM)


def wait_for(port: int) -> None:
    """Until somebody listens."""
    for _ in range(200):
        with contextlib.suppress(OSError), contextlib.closing(connect(port)):
            return
        sleep(0.1)
    raise SystemExit(f"nobody listens on port {port}")


def fill(bootstrap: str) -> bytes:
    """Records to read; gives one batch to send again and again."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(BULK, 1, 1), NewTopic(SMALL, 1, 1)]).values():
        future.result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 900_000})
    value = os.urandom(10_000)
    for _ in range(BULK_BYTES // len(value)):
        while True:
            try:
                producer.produce(BULK, value)
                break
            except BufferError:
                producer.poll(0.1)
    producer.produce(SMALL, b"x" * 500)
    producer.flush()
    batch = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=10_000)
    batch.append(timestamp=0, key=None, value=b"x" * 500)
    batch.close()
    return bytes(batch.buffer())


def consumed(bootstrap: str) -> float:
    """MiB per second of a real consumer that reads the topic from its beginning."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"bench-{perf_counter()}",
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 10_000_000,
            "queued.max.messages.kbytes": 200_000,
        }
    )
    consumer.subscribe([BULK])
    got, start = 0, 0.0
    while got < BULK_BYTES * 0.95:
        for message in consumer.consume(1_000, 1.0):
            start = start or perf_counter()
            got += len(message.value() or b"")
    rate = got / (perf_counter() - start) / 2**20
    consumer.close()
    return rate


def memory(way: Way) -> list[tuple[object, ...]]:
    """Resident memory with so many connections, each of which has just read a MiB."""
    rows = []
    for number in CONNECTIONS:
        with contextlib.ExitStack() as stack:
            buffer = bytearray(FETCH_BYTES)
            for _ in range(number):
                connection = stack.enter_context(contextlib.closing(connect(way.port)))
                connection.sendall(fetch(BULK, 0, FETCH_BYTES))
                receive(connection, buffer)
            rows.append((way.name, number, way.rss_mib()))
    return rows


def main(scale: float = 1.0) -> None:
    """Measure and print; ``scale``: of the bytes that are read and the calls that are timed."""
    with EmbeddedKafka() as kafka:
        batch = fill(kafka.bootstrap_servers)
        broker_port = int(kafka.bootstrap_servers.rpartition(":")[2])
        direct = Way("direct", broker_port, None, kafka.bootstrap_servers)
        with forwarder(broker_port) as plain, gateway(kafka.bootstrap_servers) as ours:
            ways = (direct, plain, ours)
            for _ in range(ROUNDS):
                for way in ways:
                    bulk(way, round(BYTES_PER_ROUND * scale))
                    calls(way, batch, round(CALLS * scale / ROUNDS))
            show(ways, direct)
            real = {way.name: [consumed(way.bootstrap) for _ in range(3)] for way in (direct, ours)}
            print()
            table(("way", "confluent-kafka reads MiB/s"), [(name, max(rates)) for name, rates in real.items()])
            print()
            table(("way", "connections", "resident MiB"), [*memory(plain), *memory(ours)])


def show(ways: tuple[Way, ...], direct: Way) -> None:
    """Throughput and latency."""
    bare = statistics.median(direct.rates)
    table(
        ("way", "MiB/s", "of direct", "CPU-s per GB"),
        [
            (way.name, statistics.median(way.rates), statistics.median(way.rates) / bare, way.cpu / way.moved * GB)
            for way in ways
        ],
    )
    print()
    rows = []
    for way in ways:
        row: list[object] = [way.name]
        for times, base in ((way.fetches, direct.fetches), (way.produces, direct.produces)):
            for share in (0.5, 0.99):
                row += [percentile(times, share), percentile(times, share) - percentile(base, share)]
        rows.append(row)
    header = ["way"]
    for call in ("fetch", "produce"):
        for share in ("p50", "p99"):
            header += [f"{call} {share} ms", "added"]
    table(header, rows)


if __name__ == "__main__":
    main()
