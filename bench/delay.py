"""From the timestamp of a generation's record to its number on /metrics, over HTTP as a scraper sees it.

The observer has its usual settings: events and snapshots are written meanwhile. /metrics is asked again and again, so
the time of one scrape (a few milliseconds) is part of the figure.
"""

from __future__ import annotations

from time import perf_counter, sleep, time_ns

from bench.measure import percentile, table
from bench.observing import PATIENCE_S, observer
from bench.synthetic import TOPIC, generation, offsets_broker, partition_of, writer

SAMPLES = 500
SERIES = 'kafka_rebalance_generation{consumergroup="delay"}'


def main(scale: float = 1.0) -> None:
    """Print the table."""
    delays, scrapes = [], []
    with offsets_broker() as (kafka, partitions), observer(kafka.bootstrap_servers) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        producer = writer(kafka.bootstrap_servers, linger_ms=0)
        for number in range(1, max(1, round(SAMPLES * scale)) + 1):
            sleep(0.01 + (number * 7919 % 97) / 1000)  # never in step with anybody's period
            written_ms = time_ns() // 1_000_000
            key, value = generation("delay", number, written_ms)
            producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, partitions))
            producer.poll(0)
            while True:
                begin = perf_counter()
                seen = watching.value(SERIES)
                scrapes.append((perf_counter() - begin) * 1000)
                if seen == number:
                    delays.append(time_ns() / 1e6 - written_ms)
                    break
        producer.flush()
    table(
        ("what", "samples", "p50 ms", "p95 ms", "max ms"),
        (
            (name, len(values), percentile(values, 0.5), percentile(values, 0.95), max(values))
            for name, values in (("record to /metrics", delays), ("one scrape", scrapes))
        ),
    )
