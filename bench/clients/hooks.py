"""Measures the CPU that instrumentation adds to one rebalance of one consumer, compared with the same calls without it.

One rebalance is ``on_partitions_revoked``, ``assign()`` of kafka-python's own range assignor in the leader, and
``on_partitions_assigned``. "sidecar absent": nothing listens on the sidecar's port. "sidecar present": a server in this
process answers 204, and its CPU counts, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

from kafka import TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor

from bench.measure import cpu_each, table
from rebalance_agent.instrumentation import Instrumentation, Membership
from rebalance_agent.instrumentation.rebalance_listener import RebalanceListener

SIZES = ((3, 30), (20, 200), (100, 2_000))
DEAD_URL = "http://127.0.0.1:9/v1/events"


class Cluster:
    """The part of kafka-python's cluster metadata that an assignor uses."""

    def __init__(self, partitions: int) -> None:
        self._numbers = set(range(partitions))

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self._numbers


class Listener:
    """An application's listener that does nothing, so that only our code is measured."""

    def on_partitions_revoked(self, revoked: object) -> None: ...

    def on_partitions_assigned(self, assigned: object) -> None: ...

    def on_partitions_lost(self, lost: object) -> None: ...


class Sidecar(BaseHTTPRequestHandler):
    """A sidecar that accepts every post."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: object) -> None: ...


def main(scale: float = 1.0) -> None:
    """Print the table."""
    server = HTTPServer(("127.0.0.1", 0), Sidecar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    live_url = f"http://127.0.0.1:{server.server_port}/v1/events"
    rows, calls = [], max(1, round(50 * scale))
    for members, partitions in SIZES:
        bare = cpu_each(_rebalance(members, partitions, None), calls=calls)
        for name, url in (("off", ""), ("sidecar absent", DEAD_URL), ("sidecar present", live_url)):
            wrapped = cpu_each(_rebalance(members, partitions, url), calls=calls)
            rows.append((members, partitions, name, bare, wrapped, wrapped - bare, wrapped / bare))
    table(("members", "partitions", "events", "bare us", "instrumented us", "added us", "ratio"), rows)
    server.shutdown()


def _rebalance(members: int, partitions: int, url: str | None) -> Callable[[], None]:
    topic = "orders"
    cluster = Cluster(partitions)
    ours = [TopicPartition(topic, number) for number in range(partitions // members)]
    names = [f"member-{index}" for index in range(members)]
    metadata = RangePartitionAssignor().metadata([topic])
    subscriptions = [SimpleNamespace(member_id=name, group_instance_id=None, metadata=metadata) for name in names]
    listener: Listener | RebalanceListener = Listener()
    assignor = RangePartitionAssignor()
    if url is not None:
        hooks = Instrumentation(
            group="bench",
            client_id="bench-0",
            membership=lambda: Membership(member_id=names[0], generation=7),
            events_url=url,
        )
        listener, assignor = hooks.listener(listener), hooks.assignor(assignor)

    def once() -> None:
        listener.on_partitions_revoked(ours)
        assignor.assign(cluster, subscriptions)
        listener.on_partitions_assigned(ours)

    return once
