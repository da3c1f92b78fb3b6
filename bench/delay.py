"""From the timestamp of a generation's record to its number on /metrics, over HTTP as a scraper sees it.

/metrics is asked again and again, so the time of one scrape (a few milliseconds) is part of the figure.
"""

from __future__ import annotations

from time import perf_counter, sleep, time_ns

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from bench.measure import percentile, table
from bench.observing import observer
from bench.synthetic import TOPIC, generation, partition_of
from rebalance_agent.testing import EmbeddedKafka

SAMPLES = 200
SERIES = 'kafka_rebalance_generation{consumergroup="delay"}'


def main() -> None:
    """Print the table."""
    with EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        partitions = len(AdminClient({"bootstrap.servers": bootstrap}).list_topics(TOPIC).topics[TOPIC].partitions)
        producer = Producer({"bootstrap.servers": bootstrap, "client.id": "__admin_client", "linger.ms": 0})
        delays, scrapes = [], []
        with observer(bootstrap, "--events-topic", "") as watching:
            watching.wait_until("rebalance_agent_configured", 1, 30)
            for number in range(1, SAMPLES + 1):
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
    header = ("what", "samples", "p50 ms", "p95 ms", "max ms")
    table(
        header,
        (
            (name, len(values), percentile(values, 0.5), percentile(values, 0.95), max(values))
            for name, values in (("record to /metrics", delays), ("one scrape", scrapes))
        ),
    )
