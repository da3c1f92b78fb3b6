"""Writes ``streams_user_data.json``: user data from Kafka Streams' own classes, in each of its versions.

It also has the record of a real classic group: an application of two processes with three threads each, on an embedded
broker. One subtopology reads two topics, the other one topic with a store and its standbys.

Run from the checkout: ``PYTHONPATH=agent:tests python tests/golden/make_streams_user_data.py``.
"""

from __future__ import annotations

import base64
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jpype

from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import create_topic, eventually, everything
from support.scenarios.scenario_streams import SERDE, STREAMS, start_java
from support.scenarios.topic_records import OFFSETS

OUT = Path(__file__).with_name("streams_user_data.json")
ASSIGNMENT = f"{STREAMS}.processor.internals.assignment"
PROCESS = "00010203-0405-0607-0809-0a0b0c0d0e0f"
ACTIVE = [(0, 1), (0, 1), (1, 0)]
STANDBYS = {(0, 2): [("store-changelog", 2), ("other-changelog", 2)], (1, 3): [("third-changelog", 3)]}
NAMED_SINCE = 10

TOPICS = {"Orders": 2, "clicks": 2, "users": 2, "out": 1}
PROCESSES, THREADS = 2, 3


def java_list(items: list[Any]) -> Any:
    """A Java list."""
    return jpype.JClass("java.util.ArrayList")(items)


def task(key: tuple[int, int], name: str | None = None) -> Any:
    """A task's id."""
    return jpype.JClass(f"{STREAMS}.processor.TaskId")(*key, *([name] if name else []))


def assignment(version: int, latest: int, name: str | None = None) -> bytes:
    """The leader's data for a member, with hosts and an error code."""
    topic_partition = jpype.JClass("org.apache.kafka.common.TopicPartition")
    java_map, java_set = jpype.JClass("java.util.LinkedHashMap"), jpype.JClass("java.util.LinkedHashSet")
    standbys, hosts = java_map(), java_map()
    for key, changelogs in STANDBYS.items():
        standbys.put(task(key, name), java_set(java_list([topic_partition(*each) for each in changelogs])))
    host = jpype.JClass(f"{STREAMS}.state.HostInfo")("host-1", 7070)
    hosts.put(host, java_set(java_list([topic_partition("in", 1)])))
    info = jpype.JClass(f"{ASSIGNMENT}.AssignmentInfo")
    active = java_list([task(key, name) for key in ACTIVE])
    return drained(info(version, latest, active, standbys, hosts, hosts, 0).encode())


def subscription(version: int, latest: int) -> bytes:
    """A member's data for a join, with an offset sum and an endpoint."""
    process = jpype.JClass(f"{STREAMS}.processor.assignment.ProcessId")(
        jpype.JClass("java.util.UUID").fromString(PROCESS)
    )
    sums, tags = jpype.JClass("java.util.HashMap")(), jpype.JClass("java.util.HashMap")()
    sums.put(task((0, 1)), jpype.JLong(7))
    tags.put("zone", "a")
    info = jpype.JClass(f"{ASSIGNMENT}.SubscriptionInfo")
    return drained(info(version, latest, process, "host-1:7070", sums, jpype.JByte(1), 0, tags).encode())


def application(kafka: EmbeddedKafka, state: str) -> Any:
    """A process of the application, started."""
    properties = jpype.JClass("java.util.Properties")()
    for name, value in {
        "bootstrap.servers": kafka.bootstrap_servers,
        "application.id": "words",
        "client.id": "application",
        "group.protocol": "classic",
        "num.stream.threads": str(THREADS),
        "num.standby.replicas": "1",
        "state.dir": state,
        "default.key.serde": SERDE,
        "default.value.serde": SERDE,
    }.items():
        properties.setProperty(name, value)
    builder = jpype.JClass(f"{STREAMS}.StreamsBuilder")()
    builder.stream(java_list(["clicks", "Orders"])).to("out")
    store = jpype.JClass(f"{STREAMS}.state.Stores").inMemoryKeyValueStore("store")
    builder.table("users", jpype.JClass(f"{STREAMS}.kstream.Materialized").as_(store))
    streams = jpype.JClass(f"{STREAMS}.KafkaStreams")(builder.build(), properties)
    streams.start()
    return streams


def group_record() -> dict[str, str]:
    """Key and value of the record in which all threads are members."""
    # All threads join within the delay, so that their first generation is complete.
    properties = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "3000"}
    with EmbeddedKafka(properties=properties) as kafka, ExitStack() as stack:
        for topic, partitions in TOPICS.items():
            create_topic(kafka.bootstrap_servers, topic, partitions)
        for _ in range(PROCESSES):
            streams = application(kafka, stack.enter_context(tempfile.TemporaryDirectory()))
            stack.callback(streams.close, jpype.JClass("java.time.Duration").ofSeconds(20))
        return eventually(lambda: complete(kafka))


def complete(kafka: EmbeddedKafka) -> dict[str, str] | None:
    """The record of the complete group, if it is written."""
    for message in everything(kafka.bootstrap_servers, OFFSETS):
        key, value = message.key(), message.value()
        group = classic_group(decode_record(key, value))
        if group is not None and len(group.members) == PROCESSES * THREADS:
            return {"key": text(key), "value": text(value)}
    return None


def drained(buffer: Any) -> bytes:
    """The bytes of a Java buffer."""
    return bytes(buffer.get(index) & 0xFF for index in range(buffer.position(), buffer.limit()))


def main() -> None:
    """Write the file."""
    start_java()
    latest = int(jpype.JClass(f"{ASSIGNMENT}.StreamsAssignmentProtocolVersions").LATEST_SUPPORTED_VERSION)
    versions = range(1, latest + 1)
    golden = {
        "process": PROCESS,
        "active": ACTIVE,
        "standbys": list(STANDBYS),
        "group": group_record(),
        "subscriptions": {version: text(subscription(version, latest)) for version in versions},
        "assignments": {version: text(assignment(version, latest)) for version in versions},
        "named": {version: text(assignment(version, latest, "näme")) for version in range(NAMED_SINCE, latest + 1)},
    }
    OUT.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


def text(data: bytes) -> str:
    """Base64."""
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    main()
