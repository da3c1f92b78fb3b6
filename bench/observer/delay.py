"""Measures the delay from the timestamp of a generation's record to its value on /metrics, over HTTP.

The observer has its default settings, so it writes events and snapshots. /metrics is requested repeatedly, so the
delay contains the time of one scrape (a few milliseconds). With thousands of groups, a page takes longer than the
delay; `figures` therefore requests the one group from the API.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, sleep, time_ns

from bench.measure import percentile, table
from bench.observer.observing import PATIENCE_S, observer
from bench.observer.start import compacted
from bench.synthetic import GROUPS, OFFSETS_PARTITIONS, TOPIC, generation, offsets_broker, partition_of, writer

SAMPLES = 500
SAMPLES_BESIDE = 200
SERIES = 'kafka_rebalance_generation{consumergroup="delay"}'


def main(scale: float = 1.0) -> None:
    """Print the table."""
    with offsets_broker() as (kafka, partitions), observer(kafka.bootstrap_servers) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        samples = max(1, round(SAMPLES * scale))
        delays, asked = _delays(kafka.bootstrap_servers, partitions, samples, lambda: watching.value(SERIES))
    table(
        ("what", "samples", "p50 ms", "p95 ms", "max ms"),
        (
            (name, len(values), percentile(values, 0.5), percentile(values, 0.95), max(values))
            for name, values in (("record to /metrics", delays), ("one scrape", asked))
        ),
    )


def figures(scale: float) -> dict[str, float]:
    """Return the figures that grow with the number of other groups."""
    groups = max(1, round(GROUPS * scale))
    with compacted(groups) as kafka, observer(kafka.bootstrap_servers) as watching:
        watching.wait(lambda: len(watching.generations()) >= groups and watching.ready(), PATIENCE_S, 0.5)
        samples = max(1, min(SAMPLES_BESIDE, round(SAMPLES_BESIDE * scale * 10)))
        found, _ = _delays(
            kafka.bootstrap_servers, OFFSETS_PARTITIONS, samples, lambda: watching.generation_of("delay")
        )
    return {"record to API, p50 ms": percentile(found, 0.5), "record to API, p95 ms": percentile(found, 0.95)}


def _delays(
    bootstrap: str, partitions: int, samples: int, seen: Callable[[], float | None]
) -> tuple[list[float], list[float]]:
    """Return the milliseconds from each record until its number is shown, and those of each request."""
    delays, asked = [], []
    producer = writer(bootstrap, linger_ms=0)
    for number in range(1, samples + 1):
        sleep(0.01 + (number * 7919 % 97) / 1000)  # out of step with the periods of other processes
        written_ms = time_ns() // 1_000_000
        key, value = generation("delay", number, written_ms)
        producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, partitions))
        producer.poll(0)
        while True:
            begin = perf_counter()
            shown = seen()
            asked.append((perf_counter() - begin) * 1000)
            if shown == number:
                delays.append(time_ns() / 1e6 - written_ms)
                break
    producer.flush()
    return delays, asked
