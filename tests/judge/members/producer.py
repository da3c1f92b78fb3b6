"""Produces a record to each partition of the groups' topics every `EVERY_S`: ``python producer.py JSON``.

It is a separate process, and does not wait for replicas: librdkafka sends a request for each partition, and a broker
answers those of one connection one by one. With ``acks=all`` most partitions got a record only every 10 to 70
seconds, and no commit can end a partition's stall before its next record.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from account import Account
from confluent_kafka import KafkaException, Producer

EVERY_S = 0.4
SIZES_EVERY_S = 3.0
LATE_S = 1.0
"""Longest time between two rounds that is not logged."""


class Sizes:
    """The partitions of all topics with these prefixes, read by a thread, since brokers may take seconds to answer."""

    def __init__(self, producer, prefixes):
        self.found, self._producer, self._prefixes = {}, producer, tuple(prefixes)
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self):
        pause = threading.Event()
        while True:
            try:
                topics = self._producer.list_topics(timeout=5).topics
            except KafkaException:
                continue
            self.found = {
                name: len(each.partitions) for name, each in topics.items() if name.startswith(self._prefixes)
            }
            pause.wait(SIZES_EVERY_S)


def main():
    """Produce until standard input ends."""
    config = json.loads(sys.argv[1])
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    account = Account(config["file"])
    producer = Producer(
        {
            "bootstrap.servers": config["bootstrap"],
            "acks": "1",
            "linger.ms": 20,
            "message.timeout.ms": 5_000,
            "topic.metadata.refresh.interval.ms": 3_000,
            "log_level": 0,
        }
    )
    sizes, before = Sizes(producer, config["prefixes"]), time.monotonic()  # noqa: TID251 - the clock of a test's program
    while True:
        for topic, size in sizes.found.items():
            for number in range(size):
                try:
                    producer.produce(topic, b"x", partition=number)
                except (BufferError, KafkaException):
                    break
        producer.poll(0)
        now = time.monotonic()  # noqa: TID251 - as above
        if now - before > LATE_S:
            account.say("late", seconds=round(now - before, 1))
        threading.Event().wait(max(0.0, before + EVERY_S - now))
        before = max(before + EVERY_S, now)


if __name__ == "__main__":
    main()
