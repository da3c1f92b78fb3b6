"""Writes ``streams_user_data.json``: user data from Kafka Streams' own classes, in each of its versions.

Run from the checkout: ``PYTHONPATH=agent:tests python tests/golden/make_streams_user_data.py``.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jpype

from support.scenarios.scenario_streams import STREAMS, start_java

OUT = Path(__file__).with_name("streams_user_data.json")
ASSIGNMENT = f"{STREAMS}.processor.internals.assignment"
PROCESS = "00010203-0405-0607-0809-0a0b0c0d0e0f"
ACTIVE = [(0, 1), (0, 1), (1, 0)]
STANDBYS = {(0, 2): [("store-changelog", 2), ("other-changelog", 2)], (1, 3): [("third-changelog", 3)]}
NAMED_SINCE = 10


def java_list(items: list[Any]) -> Any:
    """A Java list."""
    return jpype.JClass("java.util.ArrayList")(items)


def task(key: tuple[int, int], name: str | None = None) -> Any:
    """A task's id."""
    return jpype.JClass(f"{STREAMS}.processor.TaskId")(*key, *([name] if name else []))


def assignment(version: int, latest: int, name: str | None = None) -> bytes:
    """What the leader sends a member, with hosts and an error code."""
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
    """What a member sends when it joins, with an offset sum and an endpoint."""
    process = jpype.JClass(f"{STREAMS}.processor.assignment.ProcessId")(
        jpype.JClass("java.util.UUID").fromString(PROCESS)
    )
    sums, tags = jpype.JClass("java.util.HashMap")(), jpype.JClass("java.util.HashMap")()
    sums.put(task((0, 1)), jpype.JLong(7))
    tags.put("zone", "a")
    info = jpype.JClass(f"{ASSIGNMENT}.SubscriptionInfo")
    return drained(info(version, latest, process, "host-1:7070", sums, jpype.JByte(1), 0, tags).encode())


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
