"""Writes ``captured_records.ndjson``: real records of every kind, of groups of all four types.

Run from the checkout: ``PYTHONPATH=agent:tests python tests/golden/make_captured_records.py``. The members are
librdkafka's, kafka-python's and Kafka's own Java programs; the coordinator of Kafka 4.3 wrote the records, which are
read from ``__consumer_offsets`` in order.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import commit, create_topic, eventually, everything
from support.scenarios.scenario_parts import BROKER, CONSUMER, COOPERATIVE, EAGER, kafka_python
from support.scenarios.start_member import STREAMS_INPUT, STREAMS_OUTPUT, start_member
from support.scenarios.topic_records import OFFSETS, TopicRecords

OUT = Path(__file__).with_name("captured_records.ndjson")
TOPIC = "clicks"
PARTITIONS = 4
EVENTS = "events"
"""Name of an events topic, which stays empty; `TopicRecords` needs one."""

STATIC = {"group.instance.id": "static-1", "client.rack": "rack-a"}
REGEX = {"topics": ["^cl.*"]}


class CapturedGroup:
    """Members of one group that join and leave; every step waits until the group is stable with its members."""

    def __init__(self, kafka: EmbeddedKafka, records: TopicRecords, group: str, client: str, **settings: Any) -> None:
        """Start without members; ``settings`` are those of every member."""
        self._config = {
            "bootstrap": kafka.bootstrap_servers,
            "group": group,
            "client": client,
            "topics": [STREAMS_INPUT if client == "streams" else TOPIC],
            "killable": False,
            "events_url": "http://127.0.0.1:9",
            "directory": str(kafka.directory),
        }
        self._kafka, self._records, self._settings = kafka, records, settings
        self._members: dict[str, Any] = {}

    def join(self, name: str, **settings: Any) -> None:
        """Start one more member; it subscribes to ``topics`` among its settings."""
        topics = settings.pop("topics", self._config["topics"])
        config = {**self._config, "name": name, "topics": topics, "settings": {**self._settings, **settings}}
        self._members[name] = start_member(self._kafka, config)
        self._settle()

    def leave(self, *names: str) -> None:
        """Close these members."""
        for name in names:
            self._members.pop(name).close()
        self._settle()

    def restart(self, name: str, **settings: Any) -> None:
        """A static member closes and returns under its instance id."""
        self._members.pop(name).close()
        self.join(name, **settings)

    def delete(self) -> None:
        """Close all members, then delete the group with its offsets."""
        self.leave(*self._members)
        group, admin = self._config["group"], AdminClient({"bootstrap.servers": self._config["bootstrap"]})
        admin.delete_consumer_groups([group])[group].result()

    def _settle(self) -> None:
        wanted = tuple(sorted(self._members))

        def stable() -> bool:
            group = self._records.stable_group(self._config["group"])
            return group is not None and group.clients == wanted

        eventually(stable, waiting_for=(self._config["group"], wanted))


@contextmanager
def cluster() -> Iterator[EmbeddedKafka]:
    """A broker with some records in its topics, and an offsets topic of one partition, which keeps all records in
    order."""
    properties = {
        **BROKER,
        "offsets.topic.num.partitions": "1",
        "group.consumer.migration.policy": "bidirectional",
        "group.streams.num.standby.replicas": "1",
    }
    with EmbeddedKafka(properties=properties) as kafka:
        for name, partitions in ((TOPIC, PARTITIONS), (STREAMS_INPUT, 2), (STREAMS_OUTPUT, 1), (EVENTS, 1)):
            create_topic(kafka.bootstrap_servers, name, partitions)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        for number in range(8):
            producer.produce(TOPIC, b"x", partition=number % PARTITIONS)
            producer.produce(STREAMS_INPUT, b"a word and a word", partition=number % 2)
        producer.flush()
        yield kafka


def run_groups(kafka: EmbeddedKafka, records: TopicRecords) -> None:
    """Run every group in turn."""

    def captured_group(group: str, client: str, **settings: Any) -> CapturedGroup:
        return CapturedGroup(kafka, records, group, client, **settings)

    classic(captured_group("eager", "confluent", **EAGER), captured_group("cooperative", "confluent", **COOPERATIVE))
    # A group with user data, and a name that is difficult to print.
    sticky = captured_group('a "group"\nof \\ two lines', "kafka-python", **kafka_python("sticky"))
    sticky.join("first")
    sticky.join("second")
    sticky.delete()
    coordinated(captured_group("coordinated", "confluent", **CONSUMER), kafka.bootstrap_servers)
    java = captured_group("java", "java", **{"group.protocol": "consumer", "auto.offset.reset": "earliest"})
    java.join("first", **STATIC, **{"group.remote.assignor": "range"})
    java.delete()
    migrated(captured_group("migrated", "confluent"))
    share = captured_group("shared", "share")
    share.join("first")
    share.join("second")
    share.leave("first")
    share.delete()
    streams = captured_group("streams", "streams", **{"application.server": "host-1:7070", "client.rack": "rack-a"})
    streams.join("first")
    streams.join("second")
    streams.leave("first")
    streams.delete()
    transactions(kafka.bootstrap_servers)


def classic(eager: CapturedGroup, cooperative: CapturedGroup) -> None:
    """A static and a dynamic member, one with the older and one with the newer protocol."""
    for group in (eager, cooperative):
        group.join("first")
        group.join("second", **STATIC, topics=[TOPIC, STREAMS_INPUT])
        group.restart("second", **STATIC, topics=[TOPIC, STREAMS_INPUT])
        group.leave("first")
    cooperative.leave("second")
    eager.delete()


def coordinated(group: CapturedGroup, bootstrap: str) -> None:
    """A growing topic, a returning static member, and a member with a pattern."""
    group.join("first")
    group.join("second", **STATIC)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(TOPIC, PARTITIONS + 1)])[TOPIC].result()
    group.restart("second", **STATIC)
    group.join("third", **REGEX)
    group.leave("first")
    group.delete()


def migrated(group: CapturedGroup) -> None:
    """A group that migrates from classic to consumer and back."""
    group.join("old-1", **EAGER)
    group.join("new-1", **CONSUMER)
    group.leave("old-1")
    group.join("old-2", **EAGER)
    group.leave("new-1")
    group.delete()


def transactions(bootstrap: str) -> None:
    """Offsets committed within a transaction that is committed, and within one that is aborted."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "transacted"})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "transacted"})
    producer.init_transactions(60)
    for offset, end in ((1, producer.commit_transaction), (2, producer.abort_transaction)):
        producer.begin_transaction()
        offsets = [TopicPartition(TOPIC, 0, offset, metadata="within a transaction")]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 60)
        end(60)
    consumer.close()


def lines(bootstrap: str) -> Iterator[dict[str, Any]]:
    """The cluster's topics, then every record in order."""
    found = Cluster({"bootstrap.servers": bootstrap})
    _, counts = found.identify()
    yield {"topics": counts, "ids": dict(found.topic_ids(counts))}
    for message in everything(bootstrap, OFFSETS):
        value = message.value()
        yield {
            "timestamp": message.timestamp()[1],
            "key": _text(message.key() or b""),
            "value": None if value is None else _text(value),
        }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def main() -> None:
    """Write the file."""
    with cluster() as kafka, ExitStack() as stack:
        bootstrap = kafka.bootstrap_servers
        commit(bootstrap, "alone", [TopicPartition(TOPIC, number, 3, metadata="héllo") for number in range(2)])
        run_groups(kafka, stack.enter_context(TopicRecords(bootstrap, EVENTS)))
        text = "".join(json.dumps(line) + "\n" for line in lines(bootstrap))
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
