"""A consumer as somebody writes one, for pods: it reads until SIGTERM, or for SECONDS, and leaves its group in order.

SIGUSR1 makes it take more memory than any pod of the tests may have.
"""

from __future__ import annotations

import os
import signal
import threading

from rebalance_agent.clients.kafka_python import KafkaConsumer
from rebalance_agent.clock import SystemClock

stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
hoard: list[bytes] = []
signal.signal(signal.SIGUSR1, lambda *_: hoard.append(b"x" * (4 << 30)))

clock = SystemClock()
until = clock.monotonic() + float(os.environ.get("SECONDS", "inf"))
consumer = KafkaConsumer(
    os.environ["TOPIC"],
    bootstrap_servers=os.environ["BOOTSTRAP_SERVERS"],
    group_id=os.environ["GROUP"],
    client_id=os.environ["HOSTNAME"],
    auto_offset_reset="earliest",
    heartbeat_interval_ms=500,
    session_timeout_ms=10_000,
)
while not stop.is_set() and clock.monotonic() < until:
    consumer.poll(timeout_ms=200)
consumer.close()
