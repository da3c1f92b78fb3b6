"""Hundreds of rebalances under load, with members that join, leave, are killed and are slow: no record is lost."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.clock import SystemClock

pytestmark = pytest.mark.slow

REBALANCES = 200
MEMBERS = 5
PARTITIONS = 20
RECORDS_PER_SECOND = 400
SCRIPT = Path(__file__).parents[2] / "support" / "members" / "confluent_member.py"
PATIENCE = 180.0


class Load:
    """Produces records to every partition in turn, until it is stopped."""

    def __init__(self, servers, topic):
        self._producer = Producer({"bootstrap.servers": servers})
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        partitions = itertools.cycle(range(PARTITIONS))
        while not self._stop.wait(0.1):
            for _ in range(RECORDS_PER_SECOND // 10):
                self._producer.produce(self._topic, b"x", partition=next(partitions))
            self._producer.poll(0)

    def stop(self):
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0


class Members:
    """The members' processes, and their output."""

    def __init__(self, config, topic, directory):
        self._config = config
        self._topic = topic
        self._directory = directory
        self._number = itertools.count()
        self.running = []

    def join(self):
        path = self._directory / f"{next(self._number)}.log"
        command = [sys.executable, "-W", "ignore", str(SCRIPT), json.dumps(self._config), self._topic, str(path)]
        with path.with_suffix(".err").open("wb") as errors:
            self.running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors))

    def send(self, member, command):
        member.stdin.write(f"{command}\n".encode())
        member.stdin.flush()

    def leave(self, member):
        self.running.remove(member)
        self.send(member, "leave")
        return member

    def kill(self, member):
        self.running.remove(member)
        member.kill()
        member.wait()
        member.stdin.close()

    def lines(self):
        for path in sorted(self._directory.glob("*.log")):
            for line in path.read_text().splitlines():
                kind, *rest = line.split(" ", 1)
                yield kind, *rest

    def generation(self):
        return max((int(rest[0]) for kind, *rest in self.lines() if kind == "generation"), default=0)


class Soak:
    """The actions on the members, random by a seed."""

    def __init__(self, members):
        self.members = members
        self.done = Counter()
        self.left = []
        self._chance = random.Random(848)

    def step(self):
        """Apply an action to a random member, even if the previous step is incomplete."""
        threading.Event().wait(self._chance.uniform(0.3, 1.5))
        act = self._chance.choices(["join", "leave", "kill", "slow", "busy"], [50, 30, 8, 8, 4])[0]
        running = self.members.running
        if len(running) < MEMBERS - 2:
            act = "join"
        elif act == "join" and len(running) == MEMBERS:
            act = "leave"
        getattr(self, act)()
        self.done[act] += 1

    def join(self):
        self.members.join()

    def leave(self):
        self.left.append(self.members.leave(self._any()))

    def kill(self):
        self.members.kill(self._any())

    def slow(self):
        """Longer than max.poll.interval.ms."""
        self.members.send(self._any(), "slow 8")

    def busy(self):
        self.members.send(self._any(), "slow 1")

    def end(self):
        self.left += [self.members.leave(member) for member in list(self.members.running)]
        for member in self.left:
            member.wait(PATIENCE)
            member.stdin.close()  # afterwards, because a member ends without a leave at the end of its input

    def _any(self):
        return self._chance.choice(self.members.running)


@pytest.fixture
def topic(kafka, request):
    name = f"soak-{request.getfixturevalue('strategy')}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(60)
    return name


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("strategy", ["weighted-sticky", "cooperative-weighted-sticky"])
def test_every_record_is_processed_and_none_of_a_revoked_partition(kafka, tmp_path, strategy, topic):
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": f"{topic}-group",
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": strategy,
        "session.timeout.ms": 6_000,
        "max.poll.interval.ms": 6_000,
        "heartbeat.interval.ms": 300,
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 500,
        "log_level": 0,
    }
    clock = SystemClock()
    start = clock.monotonic()
    members = Members(config, topic, tmp_path)
    soak = Soak(members)
    load = Load(kafka.bootstrap_servers, topic)
    try:
        for _ in range(MEMBERS):
            members.join()
        while members.generation() < REBALANCES:
            soak.step()
        load.stop()
        wanted = produced(kafka.bootstrap_servers, topic)
        until = clock.monotonic() + PATIENCE
        while missing := wanted - processed(members):
            assert clock.monotonic() < until, f"{len(missing)} of {len(wanted)} not processed: {sorted(missing)[:5]}"
            threading.Event().wait(1)
    finally:
        load.stop()
        soak.end()
    kinds = Counter(kind for kind, *_ in members.lines())
    print(f"{strategy}: {clock.monotonic() - start:.0f} s", dict(soak.done), dict(kinds), f"{len(wanted)} records")
    assert [line for line in members.lines() if line[0] in {"stray", "error"}] == []
    assert [member.returncode for member in soak.left] == [0] * len(soak.left)
    assert kinds["exceeded"]
    assert kinds["lost"]


def produced(servers, topic):
    """(partition, offset) of every record in the topic."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "watermarks"})
    try:
        return {
            (partition, offset)
            for partition in range(PARTITIONS)
            for offset in range(consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1])
        }
    finally:
        consumer.close()


def processed(members):
    return {tuple(map(int, rest[0].split())) for kind, *rest in members.lines() if kind == "record"}
