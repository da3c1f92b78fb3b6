"""The program of the producer: writes records to every topic of the scenario, at a low rate.

``python -m rebalance_agent.demo.processes.producer --bootstrap-servers ... --topics REGEX --rate N``.
"""

from __future__ import annotations

import argparse
import itertools
import re
import threading
from collections.abc import Sequence
from contextlib import suppress

from confluent_kafka import KafkaException, Producer

from rebalance_agent.demo.processes import exit_with_parent

__all__ = ["main"]

REFRESH_SECONDS = 2.0
"""Interval, in seconds, at which the producer looks for new topics."""

METADATA_TIMEOUT_SECONDS = 10.0
QUEUE_MAX = 1_000
"""Maximum number of records in the client's queue; further records are dropped, since no single record is needed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Produce until the demo ends, which also ends this process (see `exit_with_parent`)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topics", type=re.compile, required=True)
    parser.add_argument("--rate", type=float, default=50.0, help="records per second over all topics")
    options = parser.parse_args(argv)
    exit_with_parent.watch_stdin()
    producer = Producer(
        {
            "bootstrap.servers": options.bootstrap_servers,
            "client.id": "demo-producer",
            "linger.ms": 100,
            "queue.buffering.max.messages": QUEUE_MAX,
        }
    )
    pace = threading.Event()
    numbers = itertools.count()
    topics: list[str] = []
    while True:
        # If the broker is too busy to respond, the known topics are used until the next refresh.
        with suppress(KafkaException):
            existing = producer.list_topics(timeout=METADATA_TIMEOUT_SECONDS).topics
            topics = [topic for topic in sorted(existing) if options.topics.fullmatch(topic)]
        for _ in range(int(REFRESH_SECONDS * options.rate)):
            number = next(numbers)
            if topics:
                _send(producer, topics[number % len(topics)], number)
            pace.wait(1 / options.rate)
            producer.poll(0)


def _send(producer: Producer, topic: str, number: int) -> None:
    try:
        producer.produce(topic, key=str(number), value=f"record {number}")
    except BufferError:
        producer.poll(0.1)


if __name__ == "__main__":
    raise SystemExit(main())
