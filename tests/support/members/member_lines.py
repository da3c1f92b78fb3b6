"""Members of other clients as processes that print lines with their assignments and records.

A line is a word and numbers: ``assigned MS P...``, ``revoked MS P...``, ``lost MS P...`` from the callbacks, ``read
MS P OFFSET`` for each record; MS is the time in epoch milliseconds. The processes end at the end of standard input.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer

from rebalance_agent.clock import SystemClock
from support.members.go_programs import go_program
from support.observer.observing import PATIENCE_S
from support.runner.node import NODE, packages

HERE = Path(__file__).parent
GO_MEMBER = HERE / "go_members" / "franz"
SARAMA_MEMBER = HERE / "go_members" / "sarama"
KAFKAJS_MEMBER = HERE / "kafkajs_member"
WORDS = {"assign": "assigned", "revoke": "revoked", "lost": "lost"}


class Lines:
    """The lines of one member, checked as they arrive. ``stale``: records of partitions that it did not own.

    ``lines``: each line as (word, epoch ms, numbers).
    """

    def __init__(self):
        self.lines = []
        self.owned, self.read, self.stale, self.changes = frozenset(), Counter(), [], []

    def take_line(self, word, at_ms, *numbers):
        self.lines.append((word, at_ms, numbers))
        if word == "read":
            partition, offset = numbers
            self.read[partition, offset] += 1
            if partition not in self.owned:
                self.stale.append(numbers)
            return
        taken = frozenset(numbers)
        self.owned = self.owned | taken if word == "assigned" else self.owned - taken
        self.changes.append((at_ms, word == "assigned", taken, self))


class ProcessMember(Lines):
    """A member as a program; ``errors`` contains its other output."""

    def __init__(self, command, environment=None):
        super().__init__()
        self.errors = []
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=lambda: self.errors.extend(self._process.stderr), daemon=True),
        ]
        for each in self._threads:
            each.start()

    def _listen(self):
        for line in self._process.stdout:
            word, *numbers = line.split()
            self.take_line(word, *map(int, numbers))

    @property
    def pid(self):
        """The process id."""
        return self._process.pid

    def hold(self):
        """Stop polling (Java's consumer only)."""
        self._process.stdin.write("hold\n")
        self._process.stdin.flush()

    def close(self):
        """Leave the group and end; repeated calls have no effect."""
        if self._process.stdin.closed:
            return
        self._process.stdin.close()
        try:
            assert self._process.wait(PATIENCE_S) == 0, self.errors
        finally:
            self.kill()

    def send(self, number):
        """Send a signal."""
        self._process.send_signal(number)

    def kill(self):
        """Kill the process; its earlier lines are read."""
        self._process.kill()
        self._process.wait()
        for each in self._threads:
            each.join(PATIENCE_S)
        for each in (self._process.stdin, self._process.stdout, self._process.stderr):
            each.close()


def java_member(bootstrap, group, topic, client_id, assignor="RangeAssignor", **properties):
    """Java's consumer."""
    more = ["=".join(each) for each in properties.items()]
    return _python_member("java_member", bootstrap, group, topic, client_id, assignor, *more)


def java_share_member(bootstrap, group, topic, client_id, *mode):
    """Java's share consumer (KIP-932); ``mode``: see `java_share_member`."""
    return _python_member("java_share_member", bootstrap, group, topic, client_id, *mode)


def _python_member(program, *arguments):
    paths = os.pathsep.join((str(HERE.parents[2] / "agent"), str(HERE.parents[1])))
    command = [sys.executable, "-W", "ignore", "-m", f"support.members.{program}", *arguments]
    return ProcessMember(command, {**os.environ, "PYTHONPATH": paths})


def go_member(bootstrap, group, topic, client_id, assignor="range"):
    """franz-go's consumer."""
    return ProcessMember([go_program(GO_MEMBER), bootstrap, group, topic, client_id, assignor])


def sarama_member(bootstrap, group, topic, client_id, assignor="range"):
    """sarama's consumer."""
    return ProcessMember([go_program(SARAMA_MEMBER), bootstrap, group, topic, client_id, assignor])


def kafkajs_member(bootstrap, group, topic, client_id):
    """KafkaJS' consumer, with its only assignor."""
    modules = packages("kafkajs", KAFKAJS_MEMBER) / "node_modules"
    command = [NODE, str(KAFKAJS_MEMBER / "member.js"), bootstrap, group, topic, client_id]
    return ProcessMember(command, {**os.environ, "NODE_PATH": str(modules)})


def librdkafka_member(bootstrap, group, topic, client_id, assignor="range", **properties):
    """librdkafka's consumer as a process."""
    return python_client("librdkafka", bootstrap, group, topic, client_id, assignor, **properties)


def python_client(client, bootstrap, group, topic, client_id, assignor="range", **properties):
    """A consumer of a Python client (`python_program.CLIENTS`) as a process."""
    more = ["=".join(each) for each in properties.items()]
    return _python_member("python_program", client, bootstrap, group, topic, client_id, assignor, *more)


class LibrdkafkaMember(Lines):
    """librdkafka's consumer in a thread; ``client``: its class. Properties with the value None or "" are omitted."""

    client = Consumer

    def __init__(self, bootstrap, group, topic, client_id, assignor="range", **properties):
        super().__init__()
        self._clock, self._stop = SystemClock(), threading.Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "partition.assignment.strategy": assignor,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1_000,
            "heartbeat.interval.ms": 200,
            "session.timeout.ms": 20_000,
            "log_level": 0,
            **properties,
        }
        self._consumer = self.client({name: value for name, value in settings.items() if value not in (None, "")})
        callbacks = {f"on_{name}": self._callback(word) for name, word in WORDS.items()}
        self._consumer.subscribe([topic], **callbacks)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _callback(self, word):
        return lambda _, given: self.take_line(word, self._clock.now_ms(), *(each.partition for each in given))

    def _run(self):
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.take_line("read", self._clock.now_ms(), message.partition(), message.offset())
        closing_ms = self._clock.now_ms()
        self._consumer.close()
        # On a busy machine librdkafka can leave without calling on_revoke. It has read nothing since its last poll.
        if self.owned:
            self.take_line("revoked", closing_ms, *self.owned)

    def close(self):
        """Leave the group; repeated calls have no effect."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def owned_twice(members):
    """(epoch ms, partition) for each partition that was assigned while another member had not revoked or lost it."""
    held, twice = {}, []
    for at_ms, assigned, partitions, member in sorted(
        (change for each in members for change in each.changes), key=lambda change: change[:2]
    ):
        for partition in partitions:
            if assigned and held.get(partition, member) is not member:
                twice.append((at_ms, partition))
            if assigned:
                held[partition] = member
            elif held.get(partition) is member:
                del held[partition]
    return twice
