"""Produces records for all groups, some for each partition every half second, so that members have work."""

from __future__ import annotations

import threading

from confluent_kafka import KafkaException, Producer

EVERY_S = 0.4


class Source:
    """A thread that produces to all partitions of all topics of the groups."""

    def __init__(self, context, groups):
        self._context, self._prefixes = context, tuple(f"{group.name}-" for group in groups)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._produce, daemon=True)
        self._thread.start()

    def _produce(self):
        producer = Producer(
            {
                "bootstrap.servers": self._context.kafka.bootstrap_servers,
                "linger.ms": 50,
                "message.timeout.ms": 5_000,
                "topic.metadata.refresh.interval.ms": 3_000,
                "log_level": 0,
            }
        )
        sizes, rounds = {}, 0
        while not self._stop.wait(EVERY_S):
            if rounds % 8 == 0:
                try:
                    topics = producer.list_topics(timeout=5).topics
                    sizes = {
                        name: len(each.partitions) for name, each in topics.items() if name.startswith(self._prefixes)
                    }
                except KafkaException:
                    pass
            rounds += 1
            for topic, size in sizes.items():
                for number in range(size):
                    try:
                        producer.produce(topic, b"x", partition=number)
                    except (BufferError, KafkaException):
                        break
            producer.poll(0)

    def end(self):
        """Stop."""
        self._stop.set()
        self._thread.join()
