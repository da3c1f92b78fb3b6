"""Measures the CPU time of the gateway for a push of client telemetry, compared with a forwarded Produce request.

500 clients, each with its own connection, push and produce in turn, with frames of the same size and one request at a
time: real clients push every 15 seconds and rarely at the same time. The pushes have the metrics of real clients, and
gzip. The broker, which answers only the Produce requests, is not part of the CPU time.
"""

from __future__ import annotations

import contextlib
import gzip
import random
import socket
import statistics
import struct
from collections.abc import Sequence
from time import perf_counter, sleep
from typing import NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from kafka.protocol.metadata import ApiVersionsRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, ResourceMetrics

from bench.gateway.gateway_clients import connected, produce
from bench.gateway.throughput import SMALL, Way, gateway
from bench.measure import table
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES, JAVA_NAMES
from rebalance_agent.testing import EmbeddedKafka

CLIENTS = 500
HOSTS = ("127.0.0.1", "127.0.0.2")
"""The clients' addresses: one address may have no more than 500 connections."""

ROUNDS = 20
INTERVAL_S = 1
APART_S = 0.7 * INTERVAL_S
"""Time between two pushes of a client: the gateway refuses a push that comes after less than half of the interval."""

FLAGS = ("--gateway-telemetry", "true", "--gateway-telemetry-seconds", str(INTERVAL_S))
HEADER = (
    "client",
    "clients",
    "metrics, bytes",
    "push, bytes",
    "Produce, bytes",
    "CPU of a push, ms",
    "of a Produce request, ms",
    "ratio",
)

_HEADER = struct.Struct(">ihhih")
_GET, _PUSH = 71, 72
_NAME = b"bench"
_GZIP = 1
_ANSWER_BYTES_MAX = 64 * 1024


class Kind(NamedTuple):
    """A kind of client: its name and version, and its metrics without compression."""

    software: str
    version: str
    metrics: bytes


def java() -> Kind:
    """Return a Java consumer, which repeats its resource for each metric."""
    data = MetricsData()
    for name in JAVA_NAMES:
        _metric(_resource(data), name)
    return Kind("apache-kafka-java", "4.3.0", data.SerializeToString())


def librdkafka() -> Kind:
    """Return a consumer of librdkafka, which has one resource, descriptions and fewer metrics."""
    data = MetricsData()
    resource = _resource(data)
    for name in CLIENT_VALUES:
        _metric(resource, name, "A description as long as those of librdkafka's metrics are.")
    return Kind("confluent-kafka-python", "2.16.1-librdkafka-2.16.1", data.SerializeToString())


def _resource(data: MetricsData) -> ResourceMetrics:
    made: ResourceMetrics = data.resource_metrics.add()
    for name, text in (
        ("group_id", "orders"),
        ("group_member_id", "consumer-orders-1-" + "f" * 36),
        ("client_rack", "a"),
    ):
        made.resource.attributes.append(KeyValue(key=name, value=AnyValue(string_value=text)))
    return made


def _metric(resource: ResourceMetrics, name: str, description: str = "") -> None:
    made = resource.scope_metrics.add().metrics.add(name=name, description=description)
    made.gauge.data_points.add(time_unix_nano=random.getrandbits(60), as_double=random.random())


class Client:
    """A connection that has a subscription; ``push`` and ``produce`` are requests of the same size."""

    def __init__(self, connection: socket.socket, kind: Kind) -> None:
        """Greet the gateway and ask for the subscription."""
        self._connection = connection
        hello = ApiVersionsRequest(version=3, client_software_name=kind.software, client_software_version=kind.version)
        hello.with_header(correlation_id=1, client_id="bench")
        self.call(bytes(hello.encode(header=True, framed=True)))
        answer = self.call(_framed(_GET, bytes(16)))
        instance_id, subscription_id = struct.unpack_from(">16si", answer, 4 + 1 + 4 + 2)
        content = gzip.compress(kind.metrics)
        body = struct.pack(">16si?b", instance_id, subscription_id, False, _GZIP) + _varint(len(content) + 1) + content
        self.push = _framed(_PUSH, body)
        self.produce = _produce_of(len(self.push))

    def call(self, frame: bytes) -> bytes:
        """Send a request; return the response without its length."""
        self._connection.sendall(frame)
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def call_push(self) -> None:
        """Push; end the program if the push is refused."""
        (error,) = struct.unpack_from(">h", self.call(self.push), 4 + 1 + 4)
        if error:
            raise SystemExit(f"a push was refused with the error code {error}")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._connection.recv(min(size - len(data), _ANSWER_BYTES_MAX))
            if not part:
                raise SystemExit("the connection ended inside an answer")
            data += part
        return data


def _framed(api_key: int, body: bytes) -> bytes:
    """Return a request in version 0 with a flexible header; ``body`` is without its tagged fields."""
    content = _HEADER.pack(0, api_key, 0, 1, len(_NAME))[4:] + _NAME + b"\0" + body + b"\0"
    return struct.pack(">i", len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*parts, number))


def _produce_of(size: int) -> bytes:
    """Return a Produce request of about ``size`` bytes: varints make some sizes impossible."""
    return produce(SMALL, bytes(max(0, size - len(produce(SMALL, b"")))))


def measured(way: Way, clients: Sequence[Client], rounds: int) -> tuple[list[float], list[float]]:
    """Return the CPU milliseconds of a push and of a Produce request, for each round."""
    pushed, produced = [], []
    for _ in range(rounds):
        cpu = way.cpu_seconds()
        for each in clients:
            each.call_push()
        last = perf_counter()
        pushed.append((way.cpu_seconds() - cpu) / len(clients) * 1000)
        cpu = way.cpu_seconds()
        for each in clients:
            each.call(each.produce)
        produced.append((way.cpu_seconds() - cpu) / len(clients) * 1000)
        sleep(max(0.0, APART_S - (perf_counter() - last)))
    return pushed, produced


def row(bootstrap: str, kind: Kind, scale: float) -> tuple[object, ...]:
    """Measure one kind of client at a new gateway."""
    with contextlib.ExitStack() as stack:
        way = stack.enter_context(gateway(bootstrap, *FLAGS))
        half = max(1, round(CLIENTS * scale / len(HOSTS)))
        sockets = [stack.enter_context(connected(way.port, half, host)) for host in HOSTS]
        clients = [Client(connection, kind) for each in sockets for connection in each]
        push, bare = map(statistics.median, measured(way, clients, max(3, round(ROUNDS * scale))))
        return (
            kind.software,
            len(clients),
            len(kind.metrics),
            len(clients[0].push),
            len(clients[0].produce),
            push,
            bare,
            push / bare if bare else 0.0,
        )


def main(scale: float = 1.0) -> None:
    """Measure and print the table; ``scale`` multiplies the clients and the rounds."""
    with EmbeddedKafka() as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic(SMALL, 1, 1)])[SMALL].result()
        table(HEADER, [row(kafka.bootstrap_servers, kind, scale) for kind in (java(), librdkafka())])


if __name__ == "__main__":
    main()
