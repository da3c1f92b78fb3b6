"""Two kafka-python consumers share a topic 3 : 1, as a large machine and a small one would.

Each of their rebalances is reported to the sidecar at http://127.0.0.1:29309/v1/events, if there is one.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

from kafka.errors import KafkaError

from rebalance_agent.clients.kafka_python import KafkaConsumer


def consume(weight: int, options: argparse.Namespace) -> str:
    """Run one member of the group for the given time."""
    consumer = KafkaConsumer(
        options.topic,
        bootstrap_servers=options.bootstrap_servers,
        group_id="kafka-python-weighted",
        auto_offset_reset="earliest",
        partition_assignment_strategy="cooperative-weighted-sticky",
        assignor_config={"assignment.consumer.weight": weight},
    )
    records, until = 0, time.monotonic() + options.seconds
    with consumer:
        while time.monotonic() < until:
            records += sum(map(len, consumer.poll(timeout_ms=200).values()))
        return f"weight {weight}: {len(consumer.assignment())} partitions, {records} records"


def main() -> None:
    """Run both members."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="localhost:9092", metavar="HOST:PORT", help="brokers")
    parser.add_argument("--topic", default="orders", help="existing topic")
    parser.add_argument("--seconds", type=float, default=30, help="seconds to consume")
    options = parser.parse_args()
    with ThreadPoolExecutor() as threads:
        try:
            for line in threads.map(lambda weight: consume(weight, options), (300, 100)):
                print(line)
        except KafkaError as error:
            raise SystemExit(f"{options.bootstrap_servers}: {error}") from None


if __name__ == "__main__":
    main()
