"""The topics that are ours: made where that is allowed, else it is said how to make them; and what writes to them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol, cast

import structlog
from confluent_kafka import KafkaException, Producer

from rebalance_agent.errors import ClusterError

__all__ = [
    "REPLACE_WAIT_MAX_S",
    "REPLACE_WAIT_S",
    "SILENT",
    "KafkaProducer",
    "TopicCreator",
    "confluent_producer",
    "create_topic",
    "flush",
]

REPLACE_WAIT_S = 1.0
REPLACE_WAIT_MAX_S = 60.0
"""Between a producer that can go on no more and the next: a right that is missing is not there a moment later."""

SILENT = logging.getLogger("rebalance_agent.librdkafka")
SILENT.disabled = True
"""Takes the fatal errors that librdkafka writes to stderr itself, past our log, which tells them once."""


class KafkaProducer(Protocol):
    """What is used of ``confluent_kafka.Producer``."""

    def produce(self, topic: str, **record: Any) -> None:  # noqa: ANN401
        """Queue a record; BufferError when the queue is full."""
        ...

    def poll(self, timeout: float) -> int:
        """Serve callbacks."""
        ...

    def flush(self, timeout: float) -> int:
        """Wait until all is sent; how many records are left."""
        ...


class TopicCreator(Protocol):
    """What is used of `cluster.admin_client.Cluster`."""

    def create_topic(self, name: str, partitions: int, config: Mapping[str, str]) -> bool:
        """Create a topic; False if it was there."""
        ...


def confluent_producer(settings: dict[str, Any]) -> KafkaProducer:
    """A producer of librdkafka."""
    return cast("KafkaProducer", Producer(settings))


def flush(producer: KafkaProducer, timeout: float) -> int:
    """Wait until all is sent, ``timeout`` seconds at most; how many records are left. Never raises KafkaException."""
    try:
        return producer.flush(timeout)
    except KafkaException:
        return producer.flush(0)  # a fatal error is told once; then comes how many are left


def create_topic(cluster: TopicCreator, topic: str, partitions: int, config: Mapping[str, str], effect: str) -> bool:
    """Create ``topic`` if it is missing; False, and told with the ``effect`` and the command, where that cannot be."""
    log = structlog.get_logger("rebalance_agent.own_topics")
    try:
        if cluster.create_topic(topic, partitions, config):
            log.info("topic_created", topic=topic, partitions=partitions)
    except ClusterError as error:
        words = ["kafka-topics.sh --bootstrap-server ... --create --if-not-exists", f"--topic {topic}"]
        words += [f"--partitions {partitions}", *(f"--config {name}={value}" for name, value in config.items())]
        log.warning("topic_not_created", topic=topic, reason=str(error), effect=effect, command=" ".join(words))
        return False
    return True
