"""A Kafka Streams application that times its tasks: ``python -m support.scenarios.scenario_streams JSON``.

Its group is a streams group, or a classic one with the setting ``group.protocol=classic``; each thread is a member.

Kafka Streams has no callbacks for partitions, but the processor of a task is initialised when the task begins and
closed when it is given up. There are no internal topics, because their number of partitions could never change; with
``stateful``, each subtopology has a store in memory, and its changelog topic.
"""

from __future__ import annotations

import tempfile
from typing import NamedTuple

import jpype

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lockfile import parse_lock
from rebalance_agent.testing.kafka.java import java_runtime
from rebalance_agent.testing.kafka.kafka_versions import kafka_version
from support.scenarios.scenario_member import HERE, run_as_process

STREAMS = "org.apache.kafka.streams"
FLAGS = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
LEAVING_S = 60
"""Longest time (seconds) to wait for brokers, which may not return."""

SERDE = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"


class Partition(NamedTuple):
    """A task, as the partition of the first topic that it reads."""

    topic: str
    partition: int


def streams_jars():
    """The jars of Kafka Streams without RocksDB (73 MB), which these tests do not need."""
    lock = HERE.parent / "kafka" / f"kafka-streams-{kafka_version().number}.lock"
    jars = [each for each in parse_lock(lock.read_text(encoding="ascii")) if each.name != "rocksdbjni"]
    return ensure_artifacts(jars, cache_directory())


def start_java():
    """Start Java in this process, without log output."""
    runtime = java_runtime()
    library = runtime.java.parents[1] / "lib" / "server" / "libjvm.so"
    silent = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    class_path = [str(jar) for jar in (*runtime.jars, *streams_jars())]
    jpype.startJVM(str(library), *FLAGS, silent, classpath=class_path)


def processors(topic, timed):
    """The Java supplier of processors, which report their tasks to ``timed``."""

    @jpype.JImplements(f"{STREAMS}.processor.api.Processor")
    class Processor:
        @jpype.JOverride
        def init(self, context):
            self.task = Partition(topic, int(context.taskId().partition()))
            timed.call("assigned", [self.task])

        @jpype.JOverride
        def process(self, record):
            """Do nothing: no records are sent."""

        @jpype.JOverride
        def close(self):
            timed.call("revoked", [self.task])

    @jpype.JImplements(f"{STREAMS}.processor.api.ProcessorSupplier")
    class Supplier:
        @jpype.JOverride
        def get(self):
            return Processor()

    return Supplier()


def run(config, timed, stop):
    """Run a member until ``stop``, then leave. ``subtopologies``: the topics of each, if it has several."""
    subtopologies = config.get("subtopologies") or [config["topics"]]
    start_java()
    be_member(config, [(topics, processors(topics[0], timed)) for topics in subtopologies], stop)


def be_member(config, subtopologies, stop):
    """Process the topics of each subtopology with the processors of its supplier until ``stop``, then leave."""
    with tempfile.TemporaryDirectory(dir=config["directory"]) as state:
        properties = jpype.JClass("java.util.Properties")()
        for name, value in {
            "bootstrap.servers": config["bootstrap"],
            "application.id": config["group"],
            "client.id": config["name"],
            "group.protocol": "streams",
            "state.dir": state,
            "default.key.serde": SERDE,
            "default.value.serde": SERDE,
            **config["settings"],
        }.items():
            properties.setProperty(name, value)
        topology = jpype.JClass(f"{STREAMS}.Topology")()
        for number, (topics, supplier) in enumerate(subtopologies):
            topology.addSource(f"source-{number}", topics)
            topology.addProcessor(f"processor-{number}", supplier, [f"source-{number}"])
            if config.get("stateful"):
                topology.addStateStore(store(f"store-{number}"), [f"processor-{number}"])
        streams = jpype.JClass(f"{STREAMS}.KafkaStreams")(topology, properties)
        streams.start()
        stop.wait()
        timeout = jpype.JClass("java.time.Duration").ofSeconds(LEAVING_S)
        if "group.instance.id" not in config["settings"]:
            streams.close(timeout)
            return
        options = jpype.JClass(f"{STREAMS}.CloseOptions")
        remain = jpype.JClass(f"{STREAMS}.CloseOptions$GroupMembershipOperation").REMAIN_IN_GROUP
        streams.close(options.timeout(timeout).withGroupMembershipOperation(remain))


def store(name):
    """The Java builder of a store in memory; a task with a store may have a standby task on another member."""
    stores = jpype.JClass(f"{STREAMS}.state.Stores")
    serde = jpype.JClass("org.apache.kafka.common.serialization.Serdes").ByteArray()
    return stores.keyValueStoreBuilder(stores.inMemoryKeyValueStore(name), serde, serde)


if __name__ == "__main__":
    run_as_process(run)
