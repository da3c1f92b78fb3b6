"""The consumers of `bench.clients.harmless` with one interface, bare or instrumented.

All have small fetches, small queues and short waits. Otherwise, buffered data would be most of the measured memory and
time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Any, Protocol

import confluent_kafka

POLL_S = 0.1
BATCH = 100
"""Maximum number of records per call, for clients that return several, and per batch in the topic."""

FETCH_BYTES, PARTITION_BYTES = 1 << 20, 64 << 10
"""Maximum number of bytes of a fetch: for all partitions, and for one."""

WAIT_MS = 5
"""Longest time (milliseconds) that a broker waits for new records. A consumer that has sent a fetch at the end of the
topic and then seeks to its beginning waits for the response first: with default settings, a random time up to half a
second. """

PATIENCE_S = 60.0
_FETCHES = {
    "fetch_max_bytes": FETCH_BYTES,
    "max_partition_fetch_bytes": PARTITION_BYTES,
    "fetch_max_wait_ms": WAIT_MS,
}


class Stops:
    """The times when the application stops: seconds from each revoked callback to the next assigned callback."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.owned = 0
        self._since: float | None = None

    def gone(self, *_: object) -> None:
        """Handle the revoked callback."""
        self.owned = 0
        self._since = perf_counter()

    def here(self, *arguments: Any) -> None:
        """Handle the assigned callback; its last argument is the partitions."""
        if self._since is not None:
            self.seconds.append(perf_counter() - self._since)
        self._since = None
        self.owned = len(arguments[-1])


class Client(Protocol):
    """The measured part of a consumer."""

    def poll(self) -> int:
        """Poll once; return the number of records."""
        ...

    def rewind(self) -> None:
        """Seek to the beginning of the topic."""
        ...

    def close(self) -> None:
        """Leave the group."""
        ...


class KafkaPython:
    """A kafka-python consumer."""

    def __init__(self, bootstrap: str, topic: str, group: str, url: str, stops: Stops) -> None:
        import kafka  # noqa: PLC0415 - each process imports one client, and our package only if instrumented

        class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
            on_partitions_revoked = staticmethod(stops.gone)
            on_partitions_assigned = staticmethod(stops.here)

        kind, more = kafka.KafkaConsumer, {}
        if url:
            from rebalance_agent.clients.kafka_python import KafkaConsumer as kind  # noqa: N813, PLC0415

            more = {"events_url": url}
        self._consumer: Any = kind(
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            max_poll_records=BATCH,
            **_FETCHES,
            **more,
        )
        self._consumer.subscribe([topic], listener=Listener())

    def poll(self) -> int:
        return sum(map(len, self._consumer.poll(timeout_ms=int(POLL_S * 1000)).values()))

    def rewind(self) -> None:
        self._consumer.seek_to_beginning()

    def close(self) -> None:
        self._consumer.close()


class Confluent:
    """A confluent-kafka consumer; each call returns one record."""

    def __init__(self, bootstrap: str, topic: str, group: str, url: str, stops: Stops) -> None:
        config = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
            "fetch.max.bytes": FETCH_BYTES,
            "max.partition.fetch.bytes": PARTITION_BYTES,
            "fetch.wait.max.ms": WAIT_MS,
            "queued.max.messages.kbytes": FETCH_BYTES >> 10,
            "fetch.queue.backoff.ms": 1,  # otherwise fetching pauses for a second if the queue is full
        }
        if url:
            from rebalance_agent.clients.confluent_kafka import Consumer  # noqa: PLC0415

            self._consumer: Any = Consumer(config, events_url=url)
        else:
            self._consumer = confluent_kafka.Consumer(config)
        self._consumer.subscribe([topic], on_assign=stops.here, on_revoke=stops.gone)

    def poll(self) -> int:
        message = self._consumer.poll(POLL_S)
        return int(message is not None and not message.error())

    def rewind(self) -> None:
        left, end = self._consumer.assignment(), perf_counter() + PATIENCE_S
        while left and perf_counter() < end:
            try:
                self._consumer.seek(confluent_kafka.TopicPartition(left[-1].topic, left[-1].partition, 0))
                left.pop()
            except confluent_kafka.KafkaException:
                self.poll()  # the partition has just been assigned, and is not fetched yet
                left = self._consumer.assignment()  # records of the other partitions are read again

    def close(self) -> None:
        self._consumer.close()


class Aiokafka:
    """An aiokafka consumer; its event loop runs during calls only."""

    def __init__(self, bootstrap: str, topic: str, group: str, url: str, stops: Stops) -> None:
        import aiokafka  # noqa: PLC0415
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415

        class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_revoked(self, revoked: object) -> None:
                stops.gone(revoked)

            async def on_partitions_assigned(self, assigned: object) -> None:
                stops.here(assigned)

        self._loop = asyncio.new_event_loop()

        async def made() -> Any:
            kind, more = aiokafka.AIOKafkaConsumer, {}
            if url:
                from rebalance_agent.clients.aiokafka import AIOKafkaConsumer as kind  # noqa: N813, PLC0415

                more = {"events_url": url}
            consumer: Any = kind(
                bootstrap_servers=bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                heartbeat_interval_ms=100,
                partition_assignment_strategy=[RangePartitionAssignor],
                **_FETCHES,
                **more,
            )
            consumer.subscribe([topic], listener=Listener())
            await consumer.start()
            return consumer

        self._consumer = self._run(made())

    def _run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(call)

    def poll(self) -> int:
        found = self._run(self._consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=BATCH))
        return sum(map(len, found.values()))

    def rewind(self) -> None:
        self._run(self._consumer.seek_to_beginning())

    def close(self) -> None:
        self._run(self._consumer.stop())
        self._loop.close()


CLIENTS: dict[str, Callable[[str, str, str, str, Stops], Client]] = {
    "kafka-python": KafkaPython,
    "confluent-kafka": Confluent,
    "aiokafka": Aiokafka,
}
