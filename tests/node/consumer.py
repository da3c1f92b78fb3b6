"""A typical consumer for pods: it reads until SIGTERM, or for SECONDS, and closes cleanly.

SIGUSR1 makes it leak about 60 MiB per second until it is ended.
"""

from __future__ import annotations

import os
import signal
import threading

from rebalance_agent.clients.kafka_python import KafkaConsumer
from rebalance_agent.clock import SystemClock

POLL_MS = 200
LEAK_BYTES = 12 << 20  # per poll

stop, leaking = threading.Event(), threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
signal.signal(signal.SIGUSR1, lambda *_: leaking.set())
hoard: list[bytes] = []

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
    consumer.poll(timeout_ms=POLL_MS)
    if leaking.is_set():
        hoard.append(b"x" * LEAK_BYTES)
consumer.close()
