"""A confluent-kafka consumer with one changed import: its rebalances are reported to the sidecar beside it.

librdkafka assigns as before. The callbacks below are the application's own; they are timed.
"""

from __future__ import annotations

import argparse
import time

from confluent_kafka import KafkaException, TopicPartition

from rebalance_agent.clients.confluent_kafka import Consumer


def on_assign(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """Do the application's work before it consumes from ``partitions``."""
    print(f"assigned {len(partitions)} partitions")


def on_revoke(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """Do the application's work before it releases ``partitions``."""
    print(f"revoked {len(partitions)} partitions at {len(consumer.position(partitions))} positions")


def main() -> None:
    """Consume for the given number of records or seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="localhost:9092", metavar="HOST:PORT", help="brokers")
    parser.add_argument("--topic", default="orders", help="existing topic")
    parser.add_argument("--seconds", type=float, default=30, help="seconds to consume")
    parser.add_argument("--records", type=int, default=100, help="end earlier, after this number of records")
    options = parser.parse_args()
    # log_level: without a broker, one error at the end instead of a line for each attempt to connect.
    group = {"group.id": "confluent-instrumented", "auto.offset.reset": "earliest", "log_level": 2}
    until, records = time.monotonic() + options.seconds, 0
    with Consumer({"bootstrap.servers": options.bootstrap_servers, **group}) as consumer:
        try:
            consumer.list_topics(options.topic, timeout=10)  # poll() would only try again
        except KafkaException as error:
            raise SystemExit(f"{options.bootstrap_servers}: {error.args[0].str()}") from None
        consumer.subscribe([options.topic], on_assign=on_assign, on_revoke=on_revoke)
        while records < options.records and time.monotonic() < until:
            message = consumer.poll(0.5)
            records += message is not None and message.error() is None
    print(f"{records} records")


if __name__ == "__main__":
    main()
