"""Publishes events to Kafka: idempotent, acknowledged by all replicas, in order per group, without blocking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from rebalance_agent.cluster.agent_topics import (
    DURABLE,
    REPLACE_WAIT_MAX_S,
    REPLACE_WAIT_S,
    SILENT,
    flush,
)
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import Event
from rebalance_agent.polls.member_events import KIND_HEADER
from rebalance_agent.runtime.settings.kafka_config import without_secrets
from rebalance_agent.runtime.sinks.split_events import event_lines

__all__ = ["EVENTS_PARTITIONS", "Publisher", "events_producer"]

EVENTS_PARTITIONS = 6
"""Number of partitions of an events topic that the agent creates: enough to read many groups' events in parallel."""

QUEUE_MAX = 100_000
QUEUE_KILOBYTES_MAX = 32 * 1024
"""Maximum number of events, and of kilobytes, in the queue: some hours of rebalances of a few hundred groups."""

UNKNOWN_TOPIC_MS = 120_000
"""How long (ms) a topic may be unknown to brokers before its events are given up. Brokers have a new topic moments
after its creation, on busy machines after tens of seconds. librdkafka's default is 30 s from the first event."""

POLL_S = 0.5
"""Longest wait of one poll for acknowledgements, in seconds."""

_Deliver = Callable[[KafkaError | None, object], None]
_Make = Callable[[dict[str, Any]], Producer]


def events_producer(properties: Mapping[str, str], make: _Make = Producer) -> Producer:
    """Return an idempotent producer whose messages all replicas acknowledge.

    Raises:
        InvalidInputError: ``properties`` do not allow such a producer.
    """
    settings = {
        "queue.buffering.max.messages": QUEUE_MAX,
        "queue.buffering.max.kbytes": QUEUE_KILOBYTES_MAX,
        # Readers decompress whole batches. zstd makes a text that repeats one character ten thousand times smaller.
        "compression.type": "lz4",
        # The Java client's partitioner: one group's events go to the same partition, whichever client writes them.
        "partitioner": "murmur2_random",
        "topic.metadata.propagation.max.ms": UNKNOWN_TOPIC_MS,
        **with_token_callback(properties),
        **DURABLE,
        "logger": SILENT,
    }
    try:
        return make(settings)
    except KafkaException as error:
        raise InvalidInputError("kafka", without_secrets(error.args[0].str(), properties)) from None


@dataclass(eq=False)
class Publisher:
    """The Kafka sink. `publish` queues an event and returns at once; events that do not fit or fail count as dropped.

    ``published(kind)`` and ``dropped(number)`` may be called from any thread.
    """

    properties: Mapping[str, str]
    topic: str
    published: Callable[[str], None] = field(kw_only=True)
    dropped: Callable[[int], None] = field(kw_only=True)
    make: _Make = field(default=Producer, kw_only=True)

    def __post_init__(self) -> None:
        """Create the producer.

        Raises:
            InvalidInputError: see `events_producer`.
        """
        self._log = structlog.get_logger("rebalance_agent.publisher")
        self._failing = False
        self._backoff = Backoff(REPLACE_WAIT_S, REPLACE_WAIT_MAX_S)
        self._lock = threading.Lock()
        self._queued = 0
        self._outstanding: dict[int, None] = {}
        self._new_producer = partial(events_producer, self.properties, self.make)
        self._producer = self._new_producer()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="publisher", daemon=True)

    def start(self) -> None:
        """Start the thread that takes acknowledgements."""
        self._thread.start()

    def publish(self, event: Event, cluster_id: str) -> None:
        """Queue an event with the key ``cluster_id:group``, as several messages if the event is too large for one."""
        key = f"{cluster_id}:{event.group}".encode("utf-8", "backslashreplace")
        for part, line in event_lines(event):
            number = self._number()
            try:
                self._producer.produce(
                    self.topic,
                    key=key,
                    value=line,
                    headers=[(KIND_HEADER, part.KIND.encode())],
                    on_delivery=self._delivery(part.KIND, number),
                )
            except (BufferError, KafkaException) as error:
                self._lost(str(error))
                self._done(number)

    @property
    def queued(self) -> int:
        """The number of messages queued since the start."""
        return self._queued

    @property
    def completed(self) -> int:
        """The number of leading messages that are all acknowledged or abandoned."""
        with self._lock:
            return next(iter(self._outstanding), self._queued)

    def close(self, timeout: float) -> None:
        """Send waiting events for at most ``timeout`` seconds; the events left then are counted as dropped."""
        self._stop.set()
        self._thread.join(timeout=2 * POLL_S)
        if left := flush(self._producer, timeout):
            self.dropped(left)
            self._log.warning("events_lost_at_stop", events=left)

    def _number(self) -> int:
        with self._lock:
            number = self._queued
            self._queued += 1
            self._outstanding[number] = None
            return number

    def _done(self, number: int) -> None:
        with self._lock:
            self._outstanding.pop(number, None)

    def _delivery(self, kind: str, number: int) -> _Deliver:
        def delivered(error: KafkaError | None, _message: object) -> None:
            self._done(number)
            if error is not None:
                self._lost(error.str())
                return
            self.published(kind)
            self._failing = False
            self._backoff.reset()

        return delivered

    def _lost(self, reason: str) -> None:
        self.dropped(1)
        self._failed(reason)

    def _failed(self, reason: str) -> None:
        if not self._failing:
            self._failing = True
            self._log.warning("events_not_published", topic=self.topic, reason=reason)

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                self._producer.poll(POLL_S)
            except KafkaException as error:
                self._replace(error)

    def _replace(self, error: KafkaException) -> None:
        # poll() raises fatal errors. An idempotent producer that lost its sequence, or had no permission to write, can
        # send no more messages. A new producer can send them, once the permission is granted.
        self._failed(error.args[0].str())
        self.dropped(flush(self._producer, 0))
        with self._lock:
            self._outstanding.clear()
        while not self._stop.wait(self._backoff.next()):
            try:
                self._producer = self._new_producer()
            except InvalidInputError as invalid:  # a certificate file is missing while it is replaced
                self._failed(invalid.problem)
            else:
                return
