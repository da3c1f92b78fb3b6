"""Times one client's assignor on one case, in this process.

``python -m bench.assignors.assignor_calls CLIENT STRATEGY FILE``

Prints "ready" when everything is loaded, then a line with the CPU nanoseconds of each call (after "~" for warm-up
calls), and at the end "=" and the peak memory in MiB. Only the calling thread counts, without Java's collector and
compiler.

Only the assignor's call is timed. Its input is the members' decoded subscriptions, and its output is the assignor's own
result. The subscriptions are decoded again for each call, as for each rebalance.
"""

# ruff: noqa: PLC0415 - a process imports only the client that it measures

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import process_time, thread_time_ns
from types import SimpleNamespace
from typing import Any

from bench.measure import usage

Calls = Iterator[Callable[[], object]]
"""An endless iterator of calls to time; the input of each call is prepared."""

JAVA_NAMES = {"sticky": "StickyAssignor", "range": "RangeAssignor", "roundrobin": "RoundRobinAssignor"}
JAVA_FLAGS = ("-Xmx2g", "-Xlog:disable", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
"""Java's flags. The log is off, because Java's sticky assignor logs the whole assignment in each call."""

WARM_UP_CALLS = 100


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A leader's input: partition counts by topic, encoded subscriptions by member id."""

    topics: dict[str, int]
    members: dict[str, bytes]


class Cluster:
    """The part of a Python client's metadata that assignors use."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._partitions = {topic: set(range(count)) for topic, count in topics.items()}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


def ours(strategy_name: str, case: CaseFile, *, owned: bool = True) -> Calls:
    """Yield calls of our strategy.

    With ``owned``, subscriptions contain the owned partitions; otherwise only the user data contains them, as in
    subscriptions of Kafka's own assignor.
    """
    from rebalance_agent.assignors import strategy
    from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription
    from rebalance_agent.groupprotocol.user_data import decode_sticky
    from rebalance_agent.model.subscription import (
        GroupSubscription,
        MemberSubscription,
        TopicMetadata,
        with_shared_names,
    )

    chosen = strategy(strategy_name)
    topics = {topic: TopicMetadata(count) for topic, count in case.topics.items()}
    while True:
        members = []
        for member_id, data in case.members.items():
            read = decode_subscription(data)
            member = MemberSubscription(member_id, read.topics, user_data=read.user_data)
            if owned and read.user_data:
                had = decode_sticky(read.user_data)
                member = replace(member, owned=had.owned, generation=had.generation)
            members.append(member)
        group = GroupSubscription(topics, with_shared_names(members))  # as our adapters do after decoding
        yield partial(chosen.assign, group)


def kafka_python(strategy_name: str, case: CaseFile) -> Calls:
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    assignors = (StickyPartitionAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor)
    assignor = {each.name: each for each in assignors}[strategy_name]()
    cluster = Cluster(case.topics)
    while True:
        members = [
            SimpleNamespace(
                member_id=member_id, group_instance_id=None, metadata=ConsumerProtocolSubscription.decode(data)
            )
            for member_id, data in case.members.items()
        ]
        yield partial(assignor.assign, cluster, members)


def aiokafka(strategy_name: str, case: CaseFile) -> Calls:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

    assignors = (StickyPartitionAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor)
    assignor = {each.name: each for each in assignors}[strategy_name]
    cluster = Cluster(case.topics)
    while True:
        members = {member_id: ConsumerProtocolMemberMetadata.decode(data) for member_id, data in case.members.items()}
        yield partial(assignor.assign, cluster, members)


def java(strategy_name: str, case: CaseFile) -> Calls:
    import jpype  # type: ignore[import-untyped]

    java_map, optional_list = jpype.JClass("java.util.HashMap"), jpype.JClass("java.util.ArrayList")
    kafka = "org.apache.kafka"
    consumer = f"{kafka}.clients.consumer"
    group_type = jpype.JClass(f"{consumer}.ConsumerPartitionAssignor$GroupSubscription")
    decoder = jpype.JClass(f"{consumer}.internals.ConsumerProtocol")
    wrap = jpype.JClass("java.nio.ByteBuffer").wrap
    cluster = _java_cluster(jpype, case.topics, optional_list())
    buffers = {member_id: jpype.JArray(jpype.JByte)(data) for member_id, data in case.members.items()}
    assignor = jpype.JClass(f"{consumer}.{JAVA_NAMES[strategy_name]}")()
    while True:
        subscriptions = java_map()
        for member_id, data in buffers.items():
            subscriptions.put(member_id, decoder.deserializeSubscription(wrap(data)))
        group = group_type(subscriptions)
        yield partial(assignor.assign, cluster, group)


def _java_cluster(jpype: Any, topics: dict[str, int], partitions: Any) -> Any:
    common = "org.apache.kafka.common"
    node_type, info_type = jpype.JClass(f"{common}.Node"), jpype.JClass(f"{common}.PartitionInfo")
    node = node_type(0, "localhost", 9092)
    replicas = jpype.JArray(node_type)([node])
    for topic, count in topics.items():
        name = jpype.JString(topic)
        for number in range(count):
            partitions.add(info_type(name, number, node, replicas, replicas))
    nodes, nothing = jpype.java.util.ArrayList([node]), jpype.java.util.Collections.emptySet()
    return jpype.JClass(f"{common}.Cluster")("bench", nodes, partitions, nothing, nothing)


def _java_thread_time_ns() -> Callable[[], int]:
    import jpype

    from rebalance_agent.testing.kafka.java import java_runtime

    runtime = java_runtime()
    library = runtime.java.parents[1] / "lib" / "server" / "libjvm.so"
    jpype.startJVM(str(library), *JAVA_FLAGS, classpath=[str(jar) for jar in runtime.jars])
    threads = jpype.JClass("java.lang.management.ManagementFactory").getThreadMXBean()
    return lambda: int(threads.getCurrentThreadCpuTime())


CLIENTS: dict[str, Callable[[str, CaseFile], Calls]] = {
    "ours": ours,
    "ours-user-data": partial(ours, owned=False),
    "java": java,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("strategy")
    parser.add_argument("file", type=Path)
    parser.add_argument("--calls", type=int, default=1, help="at most so many calls")
    parser.add_argument("--seconds", type=float, default=0.0, help="and no further one after this time")
    parser.add_argument("--warm-up", type=float, default=0.0, help="seconds of calls before, at least one")
    options = parser.parse_args()
    clock = _java_thread_time_ns() if options.client == "java" else thread_time_ns
    calls = CLIENTS[options.client](options.strategy, _read(options.file))
    first = next(calls)
    print("ready", flush=True)
    if options.warm_up:
        _show(_timed(first, calls, clock, options.warm_up), WARM_UP_CALLS, "~")
        first = next(calls)
    _show(_timed(first, calls, clock, options.seconds), options.calls, "")
    print(f"={usage()['rss_mib']}")


def _read(path: Path) -> CaseFile:
    """Read a file of `assignor_cases.write`."""
    with path.open(encoding="ascii") as lines:
        topics = json.loads(next(lines))
        members = {member_id: base64.b64decode(data) for member_id, data in map(json.loads, lines)}
    return CaseFile(topics, members)


def _timed(call: Callable[[], object], more: Calls, clock: Callable[[], int], seconds: float) -> Iterator[int]:
    end = process_time() + seconds
    while True:
        start = clock()
        result = call()
        took = clock() - start
        del result
        yield took
        if process_time() > end:
            return
        call = next(more)


def _show(times: Iterator[int], calls: int, mark: str) -> None:
    for time in islice(times, calls):
        print(f"{mark}{time}", flush=True)


if __name__ == "__main__":
    main()
