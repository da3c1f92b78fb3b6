"""An assignor of your own, with kafka-python's interface, instrumented like any other.

It assigns each topic as a whole to one member, for work that needs all records of a topic in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import Any

from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.errors import KafkaError
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from rebalance_agent.clients.kafka_python import KafkaConsumer


class WholeTopics(AbstractPartitionAssignor):
    """Assign whole topics, round robin, to the members that subscribe to them."""

    name = "whole-topics"

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return this member's data for the leader: its topics."""
        return ConsumerProtocolSubscription(0, sorted(topics), b"")

    def assign(self, cluster: ClusterMetadata, members: Iterable[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """Assign each topic to one member. Every member gets an assignment, even an empty one."""
        wants = {member.member_id: set(member.metadata.topics) for member in members}
        given: dict[str, list[tuple[str, list[int]]]] = {member: [] for member in sorted(wants)}
        for topic in sorted(set().union(*wants.values())):
            emptiest = min((member for member in given if topic in wants[member]), key=lambda each: len(given[each]))
            given[emptiest].append((topic, sorted(cluster.partitions_for_topic(topic) or ())))
        return {member: ConsumerProtocolAssignment(0, topics, b"") for member, topics in given.items()}

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Ignore the assignment: this assignor has no state."""


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
        group_id="own-assignor",
        partition_assignment_strategy=[WholeTopics],
    )
    until = time.monotonic() + options.seconds
    with consumer:
        while time.monotonic() < until:
            consumer.poll(timeout_ms=200)
        print(f"{len(consumer.assignment())} partitions of {len({each.topic for each in consumer.assignment()})} topic")


if __name__ == "__main__":
    main()
