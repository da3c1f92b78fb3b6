"""Two confluent-kafka consumers share a topic 3 : 1, as a large machine and a small one would.

librdkafka reads the records. Every rebalance is reported to the sidecar, if there is one, at
http://127.0.0.1:29309/v1/events.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaException

from rebalance_agent.clients.confluent_assignors import Consumer


def consume(weight: int, options: argparse.Namespace) -> str:
    """Run one member of the group for the given time."""
    config = {
        "bootstrap.servers": options.bootstrap_servers,
        "group.id": "confluent-weighted",
        "auto.offset.reset": "earliest",
        "log_level": 2,  # without a broker, one error at the end instead of a line for each attempt to connect
        "partition.assignment.strategy": "cooperative-weighted-sticky",
    }
    records, until = 0, time.monotonic() + options.seconds
    with Consumer(config, assignor_config={"assignment.consumer.weight": weight}) as consumer:
        consumer.list_topics(options.topic, timeout=10)  # fails if no broker answers; poll() would only try again
        consumer.subscribe([options.topic])
        while time.monotonic() < until:
            message = consumer.poll(0.2)
            records += message is not None and message.error() is None
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
        except KafkaException as error:
            raise SystemExit(f"{options.bootstrap_servers}: {error.args[0].str()}") from None


if __name__ == "__main__":
    main()
