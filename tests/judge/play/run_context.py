"""The parts of a run: cluster, folder of evidence, programs, topics, and the list of actions."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections import Counter
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from judge.play.groups import MORE_PARTITIONS, PARTITIONS
from judge.play.member import PROGRAMS, Acts
from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.artifacts.lockfile import parse_lock
from rebalance_agent.testing.kafka.java import java_runtime

LOCKS = Path(__file__).parents[2] / "support" / "kafka"
OFFSETS, OFFSETS_PARTITIONS = "__consumer_offsets", 6
REPLICAS = 3
TRANSACTIONS = "transactions-t"
ADMIN_S = 60
BROKER = {
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "min.insync.replicas": "1",
    "group.min.session.timeout.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "log.cleaner.backoff.ms": "1000",
    "controlled.shutdown.enable": "true",
}


class RunContext:
    """The cluster and the folder of a run. ``over`` is set at its end."""

    def __init__(self, kafka, folder, seed):
        self.kafka, self.folder, self.seed = kafka, folder, seed
        (folder / "members").mkdir(parents=True, exist_ok=True)
        self.acts = Acts(folder / "acts.ndjson")
        self.over = threading.Event()
        self._numbers, self._lock = Counter(), threading.Lock()
        runtime = java_runtime()
        streams = LOCKS / f"kafka-streams-{runtime.kafka.number}.lock"
        jars = [each for each in parse_lock(streams.read_text(encoding="ascii")) if each.name != "rocksdbjni"]
        self.class_path = [str(jar) for jar in (*runtime.jars, *ensure_artifacts(jars, cache_directory()))]
        self.jvm = str(runtime.java.parents[1] / "lib" / "server" / "libjvm.so")
        self.go_member = _go_member(folder)

    def number(self, name):
        """Count one more start of a member of this name; return the number of starts."""
        with self._lock:
            self._numbers[name] += 1
            return self._numbers[name]

    def admin(self):
        """Return a new admin client, since an old one waits for brokers that are gone."""
        return AdminClient({"bootstrap.servers": self.kafka.bootstrap_servers, "log_level": 0})

    def create_topics(self, groups):
        """Create the topics of all groups, and set the groups' own settings."""
        sizes = {topic: PARTITIONS for group in groups for topic in group.topics}
        sizes |= {f"{group.name}-u": MORE_PARTITIONS for group in groups if "subscribe" in group.changes}
        sizes[TRANSACTIONS] = 1
        admin = self.admin()
        made = admin.create_topics([NewTopic(name, size, REPLICAS) for name, size in sizes.items()])
        for each in made.values():
            each.result(ADMIN_S)
        for group in groups:
            if group.coordinator:
                entries = [
                    ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET)
                    for name, value in group.coordinator.items()
                ]
                resource = ConfigResource(ConfigResource.Type.GROUP, group.name, incremental_configs=entries)
                admin.incremental_alter_configs([resource])[resource].result(ADMIN_S)

    def add_partitions(self, group, topic, limit):
        """Add two partitions, up to ``limit``; return whether they exist. Brokers may refuse while some are away."""
        try:
            admin = self.admin()
            had = len(admin.list_topics(topic, 10).topics[topic].partitions)
            if had + 2 > limit:
                return False
            self.acts.note("partitions", group=group, topic=topic, had=had, has=had + 2)
            admin.create_partitions([NewPartitions(topic, had + 2)])[topic].result(ADMIN_S)
        except (KafkaException, TimeoutError) as error:
            self.acts.note("refused", group=group, error=str(error))
            return False
        return True

    def add_topic(self, group, topic, partitions):
        """Create another topic; return whether it was created."""
        try:
            self.acts.note("topic", group=group, topic=topic, had=0, has=partitions)
            admin = self.admin()
            admin.create_topics([NewTopic(topic, partitions, REPLICAS)])[topic].result(ADMIN_S)
        except (KafkaException, TimeoutError) as error:
            self.acts.note("refused", group=group, error=str(error))
            return False
        return True


def _go_member(folder):
    """Build the program of the franz-go member, and return its path; None without Go."""
    go = shutil.which("go")
    if go is None:
        return None
    binary = folder / "go_member"
    print("  building the franz-go member (takes minutes the first time, with a download)", flush=True)
    subprocess.run([go, "build", "-o", binary, "."], cwd=PROGRAMS / "go_member", check=True, timeout=600)
    return str(binary)
