"""Writes ``captured_topic.ndjson``: the records of a real broker's ``__consumer_offsets`` during rebalances.

Run from the checkout: ``PYTHONPATH=agent:tests python tests/golden/make_captured_topic.py``, then
``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` for the resulting events; read the difference.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import create_topic, eventually, everything

OUT = Path(__file__).with_name("captured_topic.ndjson")
PARTITIONS = 4
BROKER = {
    # One partition keeps the order of everything; short intervals keep the file short.
    "offsets.topic.num.partitions": "1",
    "group.consumer.migration.policy": "bidirectional",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
}
EAGER = {"group.protocol": "classic", "partition.assignment.strategy": "range", "heartbeat.interval.ms": 200}
COOPERATIVE = {**EAGER, "partition.assignment.strategy": "cooperative-sticky"}
COORDINATED = {"group.protocol": "consumer"}


class Member:
    """A consumer that is polled by the script."""

    def __init__(self, bootstrap: str, group: str, client: str, **properties: Any) -> None:
        """Subscribe to the topic of the group's name."""
        settings = {"bootstrap.servers": bootstrap, "group.id": group, "client.id": client, "log_level": 0}
        self.consumer = Consumer({**settings, **properties})
        self.consumer.subscribe([group])

    def owned(self) -> int:
        """The number of its partitions, after a poll, so that it notices a rebalance."""
        self.consumer.poll(0.02)
        return len(self.consumer.assignment())


class Group:
    """Members of one group that join and leave; every step waits until it is complete."""

    def __init__(self, bootstrap: str, name: str) -> None:
        """Start without members."""
        self._bootstrap, self._name = bootstrap, name
        self._members: dict[str, Member] = {}

    def join(self, client: str, **properties: Any) -> None:
        """Start one more member; return when all have an equal share."""
        self._members[client] = Member(self._bootstrap, self._name, client, **properties)
        self._settle()

    def leave(self, client: str) -> None:
        """Close one member; return when the others have its share."""
        member = self._members.pop(client)
        member.consumer.close()
        self._settle()

    def _settle(self) -> None:
        if self._members:
            share = PARTITIONS // len(self._members)
            eventually(lambda: [each.owned() for each in self._members.values()] == [share] * len(self._members))


@contextmanager
def cluster() -> Iterator[tuple[str, AdminClient]]:
    """A broker with a topic for each group."""
    with EmbeddedKafka(properties=BROKER) as kafka:
        bootstrap = kafka.bootstrap_servers
        for name in ("eager", "cooperative", "coordinated", "migrated"):
            create_topic(bootstrap, name, PARTITIONS)
        yield bootstrap, AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def rebalance_groups(bootstrap: str, admin: AdminClient) -> None:
    """A start, a join, a leave and an end for each kind of group, and a migration to another type and back."""
    for name, properties in (("eager", EAGER), ("cooperative", COOPERATIVE), ("coordinated", COORDINATED)):
        group = Group(bootstrap, name)
        group.join("first", **properties)
        group.join("second", **properties)
        group.leave("first")
        group.leave("second")
    admin.delete_consumer_groups(["eager"])["eager"].result()
    admin.delete_consumer_groups(["coordinated"])["coordinated"].result()
    # Only strategies without user data, because a coordinator refuses a migration that would lose it.
    group = Group(bootstrap, "migrated")
    group.join("old-1", **EAGER)
    group.join("old-2", **EAGER)
    group.leave("old-1")
    group.join("new-1", **COORDINATED)
    group.leave("old-2")
    group.join("old-3", **EAGER)
    group.leave("new-1")
    group.leave("old-3")
    admin.delete_consumer_groups(["migrated"])["migrated"].result()


def lines(bootstrap: str) -> Iterator[dict[str, Any]]:
    """The cluster's topics, then every record in order."""
    found = Cluster({"bootstrap.servers": bootstrap})
    _, counts = found.identify()
    yield {"topics": counts, "ids": dict(found.topic_ids(counts))}
    for message in everything(bootstrap, "__consumer_offsets"):
        value = message.value()
        yield {
            "timestamp": message.timestamp()[1],
            "key": base64.b64encode(message.key() or b"").decode(),
            "value": None if value is None else base64.b64encode(value).decode(),
        }


def main() -> None:
    """Write the file."""
    with cluster() as (bootstrap, admin):
        rebalance_groups(bootstrap, admin)
        text = "".join(json.dumps(line) + "\n" for line in lines(bootstrap))
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
