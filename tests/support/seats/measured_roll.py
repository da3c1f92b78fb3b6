"""Restarts unmodified consumers behind a gateway one by one, and measures the cost, for ``bench rolling-restart``.

``python -m support.seats.measured_roll CLIENT ASSIGNOR SURGE SEATS``; the last line is JSON. The consumers are
processes; the gateway and the producer share this one.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import sys
import tempfile
import threading
import warnings
from functools import partial
from pathlib import Path

from confluent_kafka import Producer

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka
from support.epoch_seats.epoch_groups import CLASSIC_ONLY, group_epoch
from support.gateway.running import gateway
from support.java.client_jar import compiled_member, kafka_clients
from support.members.member_lines import go_member, python_client, sarama_member
from support.observer.observing import create_topic, eventually
from support.telemetry.old_clients import java_of

MEMBERS, PARTITIONS, RECORDS_A_SECOND = 6, 24, 10
PAUSE_S, STALLED_S = 3.0, 0.5
CLIENTS = {
    "confluent-kafka": partial(python_client, "librdkafka"),
    "kafka-python": partial(python_client, "kafka-python"),
    "aiokafka": partial(python_client, "aiokafka"),
    "franz-go": go_member,
    "sarama": sarama_member,
}
JAVA = {"java-3.3": "3.3.2", "java-4.4": "4.4.0"}
EPOCHS = "consumer"
"""The assignor's name for groups of KIP-848, in which the coordinator assigns."""
RULES = {
    ("surge", "on"): ".*=on,seats.hold.seconds=60",
    ("no-surge", "on"): ".*=on,seats.hold.seconds=1,seats.keep.seconds=60",
}
GROUP, TOPIC = "rolled", "rolled"


class Source:
    """Produces to every partition at one rate; ``sent``: partition and offset -> epoch ms of the record."""

    def __init__(self, bootstrap):
        self.sent, self._stop = {}, threading.Event()
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._producer.flush(60)

    def _run(self):
        for partition in itertools.cycle(range(PARTITIONS)):
            if self._stop.wait(1 / (PARTITIONS * RECORDS_A_SECOND)):
                return
            self._producer.produce(TOPIC, b"", partition=partition, on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error, message):
        if error is None:
            self.sent[message.partition(), message.offset()] = message.timestamp()[1]


def starter(client, assignor, folder):
    """A function that starts a member from bootstrap servers and a client id."""
    if client in JAVA:
        strategy = None if assignor == EPOCHS else f"org.apache.kafka.clients.consumer.{assignor}"
        given = {
            "partition.assignment.strategy": strategy,
            "session.timeout.ms": None if assignor == EPOCHS else "20000",
            "heartbeat.interval.ms": None if assignor == EPOCHS else "200",
            "group.protocol": "consumer" if assignor == EPOCHS else "classic",
            "auto.commit.interval.ms": "1000",
        }
        jars = compiled_member(kafka_clients(JAVA[client]), folder)
        return lambda bootstrap, name: java_of(jars, bootstrap, GROUP, TOPIC, name, reads=True, **given)
    if assignor == EPOCHS:
        given = {**dict.fromkeys(CLASSIC_ONLY, ""), "group.protocol": "consumer"}
        return lambda bootstrap, name: CLIENTS[client](bootstrap, GROUP, TOPIC, name, "", **given)
    return lambda bootstrap, name: CLIENTS[client](bootstrap, GROUP, TOPIC, name, assignor)


class Roll:
    """The members of the group, and the ended ones."""

    def __init__(self, stack, through, begin):
        self._stack, self._through, self._begin = stack, through, begin
        self.members, self.everybody = [], []

    def start(self):
        one = self._begin(self._through.bootstrap, f"member-{len(self.everybody)}")
        self._stack.callback(one.close)
        self.everybody.append(one)
        return one

    def whole(self):
        shares = [len(one.owned) for one in self.members]
        return sum(shares) == PARTITIONS and all(shares)

    def wait(self, seconds=PAUSE_S):
        end = SystemClock().monotonic() + seconds
        eventually(lambda: SystemClock().monotonic() >= end)

    def replace(self, *, surge):
        held = self._through.acts.done("hold")
        old = self.members.pop(0)
        if surge:
            new = self.start()
            eventually(lambda: self._through.acts.done("hold") > held or new.owned, 120)
            self.wait()
            old.close()
        else:
            old.close()
            self.wait()
            new = self.start()
        self.members.append(new)
        eventually(self.whole, 120)
        self.wait()


def measure(client, assignor, surge, seats):
    def generation():
        return group_epoch(through.bootstrap, GROUP) if assignor == EPOCHS else through.generation(GROUP)

    with EmbeddedKafka() as kafka, contextlib.ExitStack() as stack:
        create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS)
        rule = RULES.get((surge, seats), "")
        begin = starter(client, assignor, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        through = stack.enter_context(gateway(kafka.bootstrap_servers, seats=rule))
        roll = Roll(stack, through, begin)
        roll.members = [roll.start() for _ in range(MEMBERS)]
        eventually(roll.whole, 120)
        with Source(kafka.bootstrap_servers) as source:
            roll.wait()
            before, since_ms = generation(), SystemClock().now_ms()
            for _ in range(MEMBERS):
                roll.replace(surge=surge == "surge")
            until_ms, added = SystemClock().now_ms(), generation() - before
        eventually(lambda: source.sent.keys() <= set().union(*(dict(one.read) for one in roll.everybody)), 60)
        return {"generations": added, **_figures(roll.everybody, source.sent, since_ms, until_ms)}


def _figures(members, sent, since_ms, until_ms):
    reads = [
        (at_ms, *numbers, number)
        for number, one in enumerate(members)
        for word, at_ms, numbers in one.lines
        if word == "read" and since_ms <= at_ms <= until_ms
    ]
    stalls, handovers = [], []
    for partition in range(PARTITIONS):
        of_partition = sorted(read for read in reads if read[1] == partition)
        for (before_ms, _, _, one), (after_ms, _, _, other) in itertools.pairwise(of_partition):
            gap = (after_ms - before_ms) / 1_000
            stalls += [gap] if gap > STALLED_S else []
            handovers += [gap] if one != other else []
    ages = sorted(
        (at_ms - sent[partition, offset]) / 1_000
        for at_ms, partition, offset, _ in reads
        if (partition, offset) in sent
    )
    times = {}
    for one in members:
        for record, count in one.read.items():
            times[record] = times.get(record, 0) + count
    return {
        "stalled_partition_seconds": round(sum(stalls), 1),
        "worst_stall_s": round(max(stalls, default=0.0), 2),
        "handover_p50_s": round(statistics.median(handovers), 2) if handovers else None,
        "age_p99_s": round(ages[int(0.99 * (len(ages) - 1))], 2) if ages else None,
        "duplicates": sum(times.values()) - len(times),
        "lost": len(sent.keys() - times.keys()),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measure(*sys.argv[1:])))
