"""Events to Kafka: idempotent, acknowledged by all replicas, in order per group, and never in anybody's way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from rebalance_agent.collectors.member_events import KIND_HEADER
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.events import Event
from rebalance_agent.runtime.splitting import event_lines

__all__ = ["EVENTS_PARTITIONS", "KafkaProducer", "Publisher", "TopicCreator", "create_events_topic"]

EVENTS_PARTITIONS = 6
"""Of a topic that we create: enough to read a large fleet's events in parallel, few enough for a small broker."""

QUEUE_MAX = 100_000
QUEUE_KILOBYTES_MAX = 64 * 1024
"""Events that wait for the brokers: hours of an ordinary fleet's rebalances, within a bounded memory."""

POLL_S = 0.2

_Deliver = Callable[[KafkaError | None, object], None]


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
    """What is used of `collectors.cluster.Cluster`."""

    def create_topic(self, name: str, partitions: int, config: Mapping[str, str]) -> bool:
        """Create a topic; False if it was there."""
        ...


class Publisher:
    """Queues events for the brokers. `publish` returns at once; what does not fit, or fails, goes to ``dropped``."""

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        *,
        published: Callable[[str], None],
        dropped: Callable[[int], None],
        make: Callable[[dict[str, Any]], KafkaProducer] | None = None,
    ) -> None:
        """``published(kind)`` and ``dropped(number)`` may be called from any thread."""
        self._topic = topic
        self._published = published
        self._dropped = dropped
        self._log = structlog.get_logger("rebalance_agent.publisher")
        self._failing = False
        self._fatal = threading.Event()
        self._make = make or _confluent_producer
        self._settings = {
            "queue.buffering.max.messages": QUEUE_MAX,
            "queue.buffering.max.kbytes": QUEUE_KILOBYTES_MAX,
            "compression.type": "zstd",
            # Java's choice of partition, so that one group's events stay together whoever writes them.
            "partitioner": "murmur2_random",
            **properties,
            "acks": "all",
            "enable.idempotence": True,
            "error_cb": self._on_error,
        }
        self._producer = self._make(self._settings)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="publisher", daemon=True)

    def start(self) -> None:
        """Begin to take acknowledgements."""
        self._thread.start()

    def publish(self, event: Event, cluster_id: str) -> None:
        """Queue an event under its cluster's and group's key."""
        key = f"{cluster_id}:{event.group}".encode("utf-8", "backslashreplace")
        for part, line in event_lines(event):
            try:
                self._producer.produce(
                    self._topic,
                    key=key,
                    value=line,
                    headers=[(KIND_HEADER, part.KIND.encode())],
                    on_delivery=self._delivery(part.KIND),
                )
            except (BufferError, KafkaException) as error:
                self._lost(str(error))

    def close(self, timeout: float) -> None:
        """Send what waits, ``timeout`` seconds at most; the rest is counted as dropped."""
        self._stop.set()
        self._thread.join(timeout=2 * POLL_S)
        if left := self._producer.flush(timeout):
            self._dropped(left)
            self._log.warning("events_lost_at_stop", events=left)

    def _delivery(self, kind: str) -> _Deliver:
        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                self._lost(error.str())
                return
            self._published(kind)
            self._failing = False

        return delivered

    def _lost(self, reason: str) -> None:
        self._dropped(1)
        if not self._failing:
            self._failing = True
            self._log.warning("events_not_published", topic=self._topic, reason=reason)

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal.set()

    def _serve(self) -> None:
        while not self._stop.is_set():
            self._producer.poll(POLL_S)
            if self._fatal.is_set():
                # An idempotent producer that lost its sequence can send nothing more; a new one can.
                self._fatal.clear()
                self._dropped(self._producer.flush(0))
                self._producer = self._make(self._settings)


def _confluent_producer(settings: dict[str, Any]) -> KafkaProducer:
    return cast("KafkaProducer", Producer(settings))


def create_events_topic(cluster: TopicCreator, topic: str) -> None:
    """Create the topic of events where that is allowed; else say once how to do it."""
    log = structlog.get_logger("rebalance_agent.publisher")
    try:
        if cluster.create_topic(topic, EVENTS_PARTITIONS, {}):
            log.info("topic_created", topic=topic, partitions=EVENTS_PARTITIONS)
    except ClusterError as error:
        log.warning(
            "topic_not_created",
            topic=topic,
            reason=str(error),
            command=f"kafka-topics.sh --create --if-not-exists --topic {topic} --partitions {EVENTS_PARTITIONS}",
        )
