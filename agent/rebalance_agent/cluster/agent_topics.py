"""Creates the agent's own topics, or logs the command if creation is not allowed; flushes producers."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import structlog
from confluent_kafka import KafkaException, Producer

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError

__all__ = [
    "DURABLE",
    "REPLACE_WAIT_MAX_S",
    "REPLACE_WAIT_S",
    "SILENT",
    "create_topic",
    "flush",
]

DURABLE = {
    "acks": "all",
    "enable.idempotence": True,
    # With several requests at a time, librdkafka 2.16 loses messages that it reports as acknowledged: if a new leader
    # refuses the first request and accepts the next one, librdkafka treats the first one as written.
    "max.in.flight.requests.per.connection": 1,
}
"""librdkafka's properties of a producer whose acknowledged messages are on all in-sync replicas, once and in order."""

REPLACE_WAIT_S = 1.0
REPLACE_WAIT_MAX_S = 60.0
"""Shortest and longest wait, in seconds, before a failed producer is replaced: a missing permission takes time to
grant."""

SILENT = logging.getLogger("rebalance_agent.librdkafka")
SILENT.disabled = True
"""Discards the fatal errors that librdkafka itself writes to stderr, since our log already has them."""


def flush(producer: Producer, timeout: float) -> int:
    """Wait at most ``timeout`` seconds until all is sent; return the number of unsent messages. No `KafkaException`."""
    try:
        return producer.flush(timeout)
    except KafkaException:
        return producer.flush(0)  # a fatal error is raised once; the second call returns the number


def create_topic(cluster: Cluster, topic: str, partitions: int, config: Mapping[str, str], effect: str) -> bool:
    """Create ``topic`` if it is missing; if that fails, log the ``effect`` and the command, and return False."""
    log = structlog.get_logger("rebalance_agent.own_topics")
    try:
        if cluster.create_topic(topic, partitions, config):
            log.info("topic_created", topic=topic, partitions=partitions)
    except ClusterError as error:
        words = [f"kafka-topics.sh --bootstrap-server {cluster.servers} --create --if-not-exists --topic {topic}"]
        words += [f"--partitions {partitions}", *(f"--config {name}={value}" for name, value in config.items())]
        log.warning("topic_not_created", topic=topic, reason=str(error), effect=effect, command=" ".join(words))
        return False
    return True
