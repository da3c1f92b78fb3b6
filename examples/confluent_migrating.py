"""A confluent-kafka consumer with the classic protocol, or with the consumer protocol (KIP-848).

Members of one group can be replaced one by one, as docs/migrate.md describes. Ctrl-C or SIGTERM ends the program.
"""

from __future__ import annotations

import argparse
import signal
import time
from contextlib import suppress

from confluent_kafka import KafkaException, TopicPartition

from rebalance_agent.clients.confluent_kafka import Consumer

SETTINGS = {
    "classic": {"group.protocol": "classic", "partition.assignment.strategy": "range", "session.timeout.ms": 45_000},
    "consumer": {"group.protocol": "consumer"},
}
"""Settings of the protocols: with the consumer protocol, librdkafka refuses the other settings of the classic one."""


def on_assign(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """Print the number of the partitions."""
    print(f"assigned {len(partitions)} partitions", flush=True)


def on_revoke(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """Print the number of the partitions."""
    print(f"revoked {len(partitions)} partitions", flush=True)


def main() -> None:
    """Consume for the given time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="localhost:9092", metavar="HOST:PORT", help="brokers")
    parser.add_argument("--topic", default="orders", help="existing topic")
    parser.add_argument("--group", default="confluent-migrating", help="group id")
    parser.add_argument("--client-id", default="member-1", help="the member's name")
    parser.add_argument("--protocol", default="classic", choices=SETTINGS, help="group protocol of this member")
    parser.add_argument("--seconds", type=float, default=30, help="seconds to consume")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # log_level: without a broker, one error at the end instead of a line for each attempt to connect.
    member = {
        "group.id": options.group,
        "client.id": options.client_id,
        "auto.offset.reset": "earliest",
        "log_level": 2,
    }
    config = {"bootstrap.servers": options.bootstrap_servers, **member, **SETTINGS[options.protocol]}
    until = time.monotonic() + options.seconds
    with Consumer(config) as consumer, suppress(KeyboardInterrupt):
        try:
            consumer.list_topics(options.topic, timeout=10)  # poll() would only try again
        except KafkaException as error:
            raise SystemExit(f"{options.bootstrap_servers}: {error.args[0].str()}") from None
        consumer.subscribe([options.topic], on_assign=on_assign, on_revoke=on_revoke)
        while time.monotonic() < until:
            consumer.poll(0.5)


if __name__ == "__main__":
    main()
