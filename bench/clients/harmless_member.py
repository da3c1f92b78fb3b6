"""Runs one consumer of `bench.clients.harmless` in its own process, and prints its figures as JSON at the end.

A plain member joins and leaves repeatedly. Each time, this consumer then reads the whole topic from the beginning, call
by call, while a sidecar accepts its events or does not. Memory is measured after the last read.
"""

from __future__ import annotations

import ctypes
import gc
import json
import statistics
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, process_time

import confluent_kafka
import psutil

from bench.clients.harmless_clients import CLIENTS, PATIENCE_S, Client, Stops
from bench.measure import percentile

LEFT_S = 0.2
"""Seconds for which the other member stays in the group."""

LOOKS = 3
"""Number of samples of memory, each after a poll."""


def main() -> None:
    """Run the consumer and print its figures as JSON."""
    client, bootstrap, topic, group, records, reads, url = sys.argv[1:]
    stops = Stops()
    consumer = CLIENTS[client](bootstrap, topic, group, url, stops)
    _until(consumer, lambda: stops.owned > 0, "partitions")
    whole = stops.owned
    stops.seconds.clear()
    rows = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(int(reads)):
            other = pool.submit(joined_and_left, bootstrap, topic, group)
            _until(consumer, other.done, "another member to come and go")
            other.result()
            _until(consumer, lambda: stops.owned == whole, "what that one had")
            rows.append(read(consumer, int(records)))
    figures = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    figures |= {"rebalance_ms": statistics.median(stops.seconds) * 1000, "memory_mib": at_rest(consumer)}
    consumer.close()
    print(json.dumps(figures))


def joined_and_left(bootstrap: str, topic: str, group: str) -> None:
    """Join as another member and leave again, which causes two rebalances."""
    config = {"bootstrap.servers": bootstrap, "group.id": group, "heartbeat.interval.ms": 100}
    other, there = confluent_kafka.Consumer(config), threading.Event()
    other.subscribe([topic], on_assign=lambda *_: there.set())
    end = perf_counter() + PATIENCE_S
    while not there.is_set() and perf_counter() < end:
        other.poll(0.05)
    other.poll(LEFT_S)
    other.close()
    if not there.is_set():
        raise SystemExit("the other member was given nothing")


def read(consumer: Client, records: int) -> dict[str, float]:
    """Read the topic once; return microseconds per call with records, and elapsed and CPU microseconds per record."""
    consumer.rewind()
    calls, count, begun, cpu = [], 0, perf_counter(), process_time()
    while count < records:
        before = perf_counter()
        found = consumer.poll()
        if found:
            calls.append((perf_counter() - before) * 1e6)
        count += found
        if perf_counter() - begun > PATIENCE_S:
            raise SystemExit(f"only {count} records came")
    took, cpu = perf_counter() - begun, process_time() - cpu
    return {
        "poll_p50_us": percentile(calls, 0.5),
        "poll_p99_us": percentile(calls, 0.99),
        "record_us": took / count * 1e6,
        "record_cpu_us": cpu / count * 1e6,
    }


def at_rest(consumer: Client) -> float:
    """Return the memory in use by this process alone, in MiB.

    Unused memory is returned to the system first, because its amount is random.
    """
    process, looks = psutil.Process(), []
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    for _ in range(LOOKS):
        consumer.poll()
        gc.collect()
        if trim:
            trim(0)
        looks.append(process.memory_full_info().uss / 2**20)
    return statistics.median(looks)


def _until(consumer: Client, done: Callable[[], bool], what: str) -> None:
    end = perf_counter() + PATIENCE_S
    while not done():
        consumer.poll()
        if perf_counter() > end:
            raise SystemExit(f"waited {PATIENCE_S:g} s for {what}")


if __name__ == "__main__":
    main()
