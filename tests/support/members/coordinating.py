"""Runs a script of the coordinator's model with real members in a real group."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from confluent_kafka.admin import AdminClient

from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.model.partitions import count_partitions, topic_partitions
from rebalance_agent.testing.simulation import Crash, Join, Leave, simulate
from support.observer.observing import PATIENCE_S, eventually, everything

AGENT = Path(__file__).parents[3] / "agent"
CHILD = """
import json, sys
from rebalance_agent.clients.kafka_python import KafkaConsumer
settings = json.loads(sys.argv[1])
topics = settings.pop("topics")
consumer = KafkaConsumer(*topics, **settings)
[consumer.partitions_for_topic(topic) for topic in topics]
while True:
    consumer.poll(timeout_ms=100)
"""


def consumer_settings(bootstrap, group, member):
    return {
        "bootstrap_servers": bootstrap,
        "group_id": group,
        "client_id": member.name,
        "group_instance_id": member.instance_id,
        "partition_assignment_strategy": list(member.strategies),
        "assignor_config": dict(member.config),
        "heartbeat_interval_ms": member.heartbeat_interval_ms,
        "session_timeout_ms": member.session_timeout_ms,
        "max_poll_interval_ms": member.rebalance_timeout_ms,
        "enable_auto_commit": False,
        "events_url": "",
    }


class Consumer:
    """A member in a thread of this process; between `hold` and `release` it does not poll, as during processing."""

    def __init__(self, bootstrap, group, member):
        from rebalance_agent.clients.kafka_python import KafkaConsumer  # noqa: PLC0415 - its import warns

        self.error = None
        self._free = threading.Event()
        self._free.set()
        self._stop = threading.Event()
        self._between = threading.Event()
        self._consumer = KafkaConsumer(*member.topics, **consumer_settings(bootstrap, group, member))
        # A leader without metadata assigns nothing, and causes another rebalance once it has metadata.
        for topic in member.topics:
            assert self._consumer.partitions_for_topic(topic)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while not self._stop.is_set():
                self._consumer.poll(timeout_ms=100)
                while not self._free.is_set():
                    self._between.set()
                    self._free.wait(0.1)
        except Exception as error:  # noqa: BLE001 - the test checks it
            self.error = error

    def hold(self):
        """Stop polling until `release`; return when the current poll has ended."""
        self._between.clear()
        self._free.clear()
        assert self._between.wait(PATIENCE_S)

    def release(self):
        self._free.set()

    def owned(self):
        return topic_partitions(self._consumer.assignment())

    def close(self):
        self._stop.set()
        self._free.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self._consumer.close()


class Process:
    """A member in its own process, which can be killed."""

    error = None

    def __init__(self, bootstrap, group, member):
        settings = {**consumer_settings(bootstrap, group, member), "topics": list(member.topics)}
        command = [sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(settings)]
        self._process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(AGENT)})

    def owned(self):
        return None

    def close(self):
        self._process.kill()
        self._process.wait(PATIENCE_S)


class RealGroup:
    """A real group; its members have the names of the script's members."""

    def __init__(self, bootstrap, group, script):
        script = list(script)
        self.bootstrap = bootstrap
        self.group = group
        self.members = {}
        self._instances = {step.member.instance_id: step.member.name for step in script if isinstance(step, Join)}
        self._killed = {step.name for step in script if isinstance(step, Crash)}
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def take(self, step):
        if isinstance(step, Join):
            kind = Process if step.member.name in self._killed else Consumer
            self.members[step.member.name] = kind(self.bootstrap, self.group, step.member)
        elif isinstance(step, Leave | Crash):
            self.members.pop(step.name).close()
        else:
            raise NotImplementedError(step)

    def close(self):
        for member in self.members.values():
            member.close()

    def state(self):
        """The state, and name -> partitions, from the coordinator's description of the group."""
        described = self._admin.describe_consumer_groups([self.group])[self.group].result(PATIENCE_S)
        return described.state.name, {
            self._name(member.group_instance_id, member.client_id): topic_partitions(
                (each.topic, each.partition) for each in member.assignment.topic_partitions
            )
            for member in described.members
        }

    def rest(self, timeline, topics):
        """Wait for the model's last state: the same members, owners of all partitions, errors of refused members."""
        names, refused = timeline.generations[-1].names, {each.member for each in timeline.refusals}
        partitions = sum(known.partitions for known in topics.values())
        eventually(lambda: self.settled(names, partitions), waiting_for=(names, partitions))
        eventually(lambda: all(self.members[name].error for name in refused & self.members.keys()), waiting_for=refused)

    def settled(self, names, partitions):
        """Whether exactly the members ``names`` own ``partitions`` partitions, also according to their consumers."""
        state, owned = self.state()
        if not names:
            return state in {"EMPTY", "DEAD"}
        known = all(
            (mine := member.owned()) is None or mine == owned.get(name)
            for name, member in self.members.items()
            if member.error is None
        )
        return (
            state == "STABLE"
            and known
            and set(owned) == set(names)
            and sum(map(count_partitions, owned.values())) == partitions
        )

    def generations(self):
        """(number, strategy, name -> partitions) of every generation in the offsets topic, and the number of static
        returns.

        A returning static member causes a second record of the same generation.
        """
        found = [
            classic_group(decode_record(message.key(), message.value()))
            for message in everything(self.bootstrap, "__consumer_offsets")
            if record_kind(message.key()) == "group_metadata" and message.value() is not None
        ]
        rows = [
            (
                each.generation,
                each.protocol,
                {self._name(member.instance_id, member.client_id): member.assigned for member in each.members},
            )
            for each in found
            if each is not None and each.group == self.group and each.generation
        ]
        return [row for row, _ in itertools.groupby(rows)], sum(
            1 for one, two in itertools.pairwise(rows) if one == two
        )

    def _name(self, instance_id, client_id):
        return client_id if instance_id is None else self._instances[instance_id]


@contextlib.contextmanager
def real_group(bootstrap, group, script):
    real = RealGroup(bootstrap, group, script)
    try:
        yield real
    finally:
        real.close()


def modelled(timeline):
    """The generations of a timeline, in the format of `RealGroup.generations`."""
    return [
        (each.number, each.strategy, {each.members[key]: given for key, given in each.assignment.items()})
        for each in timeline.generations
    ]


def run_moves(bootstrap, group, moves, topics, settings):
    """Run ``moves`` (tuples of steps), each when the group is stable after the previous one.

    Return rows and returns (`RealGroup.generations`), and the errors of the remaining members.
    """
    with real_group(bootstrap, group, itertools.chain(*moves)) as real:
        for count in range(1, len(moves) + 1):
            for step in moves[count - 1]:
                real.take(step)
            real.rest(simulate(topics, [*itertools.chain(*moves[:count])], settings), topics)
        rows, returns = real.generations()
        return rows, returns, {name: member.error for name, member in real.members.items() if member.error}
