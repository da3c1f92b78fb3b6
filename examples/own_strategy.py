"""A custom strategy: one pure function, for both protocols and every client, checked against its own promise.

The package sorts members, validates ownership, tolerates invalid data of other clients, and adds the cooperative
follow-up.
"""

from __future__ import annotations

import argparse
import time

from kafka.errors import KafkaError

from rebalance_agent.assignors import Plan, Roster, Strategy
from rebalance_agent.clients.kafka_python import KafkaConsumer
from rebalance_agent.model.group import RebalanceProtocol


def stripes(roster: Roster) -> Plan:
    """Assign partition ``n`` of every topic to subscriber ``n`` modulo their number."""
    plan = roster.empty_plan()
    for topic, count, places in zip(roster.topics, roster.partitions, roster.subscribers, strict=True):
        for turn, member in enumerate(places[:count]):
            plan[member][topic] = tuple(range(turn, count, len(places)))
    return plan


STRIPES = Strategy("stripes", RebalanceProtocol.EAGER, "partition n of every topic to member n", stripes)


def main() -> None:
    """Consume for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="localhost:9092", metavar="HOST:PORT", help="brokers")
    parser.add_argument("--topic", default="orders", help="existing topic")
    parser.add_argument("--seconds", type=float, default=30, help="seconds to consume")
    options = parser.parse_args()
    try:
        consume(options)
    except KafkaError as error:
        raise SystemExit(f"{options.bootstrap_servers}: {error}") from None


def consume(options: argparse.Namespace) -> None:
    """Run one member of the group."""
    consumer = KafkaConsumer(
        options.topic,
        bootstrap_servers=options.bootstrap_servers,
        group_id="own-strategy",
        partition_assignment_strategy=[STRIPES.cooperative()],
    )
    until = time.monotonic() + options.seconds
    with consumer:
        while time.monotonic() < until:
            consumer.poll(timeout_ms=200)
        print(f"{len(consumer.assignment())} partitions")


if __name__ == "__main__":
    main()
