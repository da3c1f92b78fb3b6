"""One consumer of `bench.harmless`, bare or instrumented, in a process of its own: its figures as JSON at the end.

First it goes through rebalances, since a plain member joins and leaves again and again; then it reads the whole topic
from the beginning, call by call, while its events are (or are not) taken by a sidecar.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Coroutine
from time import perf_counter, process_time
from typing import Any, Protocol

import confluent_kafka
import psutil

from bench.measure import percentile

POLL_S = 0.1
BATCH = 100
"""Records of one call, where a client gives several."""

PATIENCE_S = 60.0
LEFT_S = 0.2
"""The other member stays for so long."""


class Stops:
    """When the application was stopped, and for how long: from the revoked callback to the assigned one."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.owned = 0
        self._since: float | None = None

    def gone(self, *_: object) -> None:
        """Partitions are given back."""
        self.owned = 0
        self._since = perf_counter()

    def here(self, *told: Any) -> None:
        """Partitions are there (again); the last that is told are they."""
        if self._since is not None:
            self.seconds.append(perf_counter() - self._since)
        self._since = None
        self.owned = len(told[-1])


class Client(Protocol):
    """As much of a consumer as is measured."""

    def poll(self) -> int:
        """Call once for records; how many came."""
        ...

    def rewind(self) -> None:
        """Begin the topic anew."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class KafkaPython:
    """kafka-python."""

    def __init__(self, bootstrap: str, topic: str, group: str, url: str, stops: Stops) -> None:
        import kafka  # noqa: PLC0415 - each process has one client, and ours only where it is instrumented

        class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
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
    """confluent-kafka as it is; one record a call."""

    def __init__(self, bootstrap: str, topic: str, group: str, url: str, stops: Stops) -> None:
        config = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
        }
        if url:
            from rebalance_agent.clients.confluent_plain import Consumer  # noqa: PLC0415

            self._consumer: Any = Consumer(config, events_url=url)
        else:
            self._consumer = confluent_kafka.Consumer(config)
        self._consumer.subscribe([topic], on_assign=stops.here, on_revoke=stops.gone)

    def poll(self) -> int:
        return int(self._consumer.poll(POLL_S) is not None)

    def rewind(self) -> None:
        left, end = self._consumer.assignment(), perf_counter() + PATIENCE_S
        while left and perf_counter() < end:
            try:
                self._consumer.seek(confluent_kafka.TopicPartition(left[-1].topic, left[-1].partition, 0))
                left.pop()
            except confluent_kafka.KafkaException:
                self.poll()  # not fetched yet: it was assigned a moment ago
                left = self._consumer.assignment()  # what this read of the others is to be read again

    def close(self) -> None:
        self._consumer.close()


class Aiokafka:
    """aiokafka; the loop runs for the length of a call."""

    def __init__(self, bootstrap: str, topic: str, group: str, url: str, stops: Stops) -> None:
        import aiokafka  # noqa: PLC0415
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415

        class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
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


def joined_and_left(bootstrap: str, topic: str, group: str, times: int) -> None:
    """Be another member for a moment, and again: two rebalances each time."""
    config = {"bootstrap.servers": bootstrap, "group.id": group, "heartbeat.interval.ms": 100}
    for _ in range(times):
        other, there = confluent_kafka.Consumer(config), threading.Event()
        other.subscribe([topic], on_assign=lambda *_, there=there: there.set())
        end = perf_counter() + PATIENCE_S
        while not there.is_set() and perf_counter() < end:
            other.poll(0.05)
        there.clear()
        other.poll(LEFT_S)
        other.close()


def main() -> None:
    """Be the member, and tell what it was like."""
    client, bootstrap, topic, group, records, rebalances, url = sys.argv[1:]
    stops = Stops()
    consumer = CLIENTS[client](bootstrap, topic, group, url, stops)
    _until(consumer, lambda: stops.owned > 0)
    whole = stops.owned
    stops.seconds.clear()
    times = int(rebalances) // 2
    other = threading.Thread(target=joined_and_left, args=(bootstrap, topic, group, times))
    other.start()
    _until(consumer, lambda: not other.is_alive())
    _until(consumer, lambda: stops.owned == whole)
    consumer.rewind()
    calls, read, begun, cpu = [], 0, perf_counter(), process_time()
    while read < int(records):
        before = perf_counter()
        count = consumer.poll()
        if count:
            calls.append((perf_counter() - before) * 1e6)
        read += count
        if perf_counter() - begun > PATIENCE_S:
            raise SystemExit(f"only {read} records came")
    took, cpu = perf_counter() - begun, process_time() - cpu
    rss_mib = psutil.Process().memory_info().rss / 2**20
    consumer.close()
    figures = {
        "poll_p50_us": percentile(calls, 0.5),
        "poll_p99_us": percentile(calls, 0.99),
        "records_s": read / took,
        "rebalance_ms": percentile(stops.seconds, 0.5) * 1000,
        "cpu_s": cpu,
        "rss_mib": rss_mib,
    }
    print(json.dumps(figures))


def _until(consumer: Client, done: Callable[[], bool]) -> None:
    end = perf_counter() + PATIENCE_S
    while not done():
        consumer.poll()
        if perf_counter() > end:
            raise SystemExit("the group does not come to rest")


if __name__ == "__main__":
    main()
