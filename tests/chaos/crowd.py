"""Classic, consumer and share groups whose members come and go all the time, and what they read."""

from __future__ import annotations

import contextlib
import random
import threading
from dataclasses import dataclass, field

from confluent_kafka import Producer

from rebalance_agent.clients.confluent_plain import Consumer as InstrumentedConsumer
from rebalance_agent.clock import SystemClock
from support.member_lines import LibrdkafkaMember, java_member
from support.observing import PATIENCE_S
from support.scenario_cast import cast

PARTITIONS = 6
SESSION = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 20_000}
EAGER = {**SESSION, "assignor": "range"}
COOPERATIVE = {**SESSION, "assignor": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}
RECORDS_PER_S = 20
POLL_S = 0.1
MEMBERS = 2, 3
"""Fewer are joined by another one, and never are there more."""

KILLED = 0.3
"""So many of those who go do not say goodbye, if they are processes."""


@dataclass(frozen=True)
class Kind:
    """A group: its client, its members' settings, and how long it rests between changes (seconds)."""

    name: str
    client: str
    settings: dict = field(default_factory=dict)
    rest_s: tuple[float, float] = (1.0, 6.0)
    static: bool = False


KINDS = (
    Kind("eager", "librdkafka", EAGER),
    Kind("eager-bare", "librdkafka", EAGER),
    Kind("eager-instrumented", "instrumented", EAGER),
    Kind("cooperative", "librdkafka", COOPERATIVE),
    Kind("static", "librdkafka", COOPERATIVE, static=True),
    Kind("consumer", "librdkafka", CONSUMER),
    Kind("consumer-static", "librdkafka", CONSUMER, static=True),
    Kind("java", "java", {"session.timeout.ms": "6000"}, (6.0, 20.0)),
    Kind("python", "kafka-python", {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 500}, (3.0, 10.0)),
    Kind("share", "share", {}, (8.0, 25.0)),
)


class Timed(LibrdkafkaMember):
    """Also how much longer than asked for each of its polls took (seconds)."""

    def _run(self):
        self.late_s = []
        while not self._stop.is_set():
            asked = self._clock.monotonic()
            message = self._consumer.poll(POLL_S)
            self.late_s.append(max(0.0, self._clock.monotonic() - asked - POLL_S))
            if message is not None and message.error() is None:
                self.hear("read", self._clock.now_ms(), message.partition(), message.offset())
        self._consumer.close()


class Instrumented(Timed):
    """The same with our instrumentation, whose sidecar may be gone."""

    events_url = ""

    def client(self, settings):
        """What it consumes with."""
        return InstrumentedConsumer(settings, events_url=self.events_url)


class Crowd:
    """All groups. Members leave when the block ends."""

    def __init__(self, kafka, topic, events_url, seed, kinds=KINDS):
        self.kinds = kinds
        self.members = {kind.name: [] for kind in kinds}
        self.errors = []
        self._kafka, self._topic, self._events_url = kafka, topic, events_url
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(kind, random.Random(f"{seed} {kind.name}")), daemon=True)
            for kind in kinds
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.calm()

    def calm(self):
        """Everybody leaves."""
        self._stop.set()
        for thread in self._threads:
            thread.join(4 * PATIENCE_S)
            assert not thread.is_alive(), "a group cannot end its members"

    def group(self, kind):
        """Its name."""
        return f"chaos-{kind.name}"

    def _live(self, kind, chance):
        there = {}
        try:
            there[0] = self._join(kind, 0)
            while not self._stop.wait(chance.uniform(*kind.rest_s)):
                if len(there) < MEMBERS[0] or (len(there) < MEMBERS[1] and chance.random() < 1 / 2):
                    # A static member comes back under its name.
                    names = range(MEMBERS[1]) if kind.static else [len(self.members[kind.name])]
                    number = chance.choice([each for each in names if each not in there])
                    there[number] = self._join(kind, number)
                else:
                    self._leave(there.pop(chance.choice(sorted(there))), kill=chance.random() < KILLED)
        except Exception as error:  # noqa: BLE001 - shown at the end
            self.errors.append(f"{kind.name}: {error!r}")
        finally:
            for member in there.values():
                with contextlib.suppress(Exception):
                    self._leave(member)

    def _join(self, kind, number):
        group, name = self.group(kind), f"{kind.name}-{number}"
        more = {"group.instance.id": name} if kind.static else {}
        bootstrap = self._kafka.bootstrap_servers
        if kind.client == "java":
            member = java_member(bootstrap, group, self._topic, name, **kind.settings, **more)
        elif kind.client in ("share", "kafka-python"):
            config = {
                "client": kind.client,
                "bootstrap": bootstrap,
                "group": group,
                "topics": [self._topic],
                "name": name,
                "killable": True,
                "settings": kind.settings,
                "events_url": self._events_url,
                "directory": str(self._kafka.directory),
            }
            member = cast(self._kafka, config)
        else:
            make = Instrumented if kind.client == "instrumented" else Timed
            Instrumented.events_url = self._events_url
            member = make(bootstrap, group, self._topic, name, **_settings(kind), **more)
        self.members[kind.name].append(member)
        return member

    def _leave(self, member, *, kill=False):
        if kill and hasattr(member, "kill"):
            member.kill()
        else:
            member.close()


def _settings(kind):
    if "group.protocol" in kind.settings:
        # Not a classic group's settings: these are the brokers' with this protocol.
        none = ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms")
        return {**kind.settings, **dict.fromkeys(none)}
    return kind.settings


class Source:
    """Writes numbered records; ``written``: those that Kafka acknowledged, as (partition, offset)."""

    def __init__(self, bootstrap, topic):
        self.written = set()
        self._topic, self._stop, self._clock = topic, threading.Event(), SystemClock()
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
        self._producer = Producer({**settings, "delivery.timeout.ms": 300_000})
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Nothing more is written."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        self._producer.flush(PATIENCE_S)

    def _run(self):
        number = 0
        while not self._stop.wait(1 / RECORDS_PER_S):
            number += 1
            with contextlib.suppress(BufferError):  # brokers are away: less is written then
                self._producer.produce(self._topic, str(number), partition=number % PARTITIONS, on_delivery=self._note)
            self._producer.poll(0)

    def _note(self, error, message):
        # Of one that was sent again and turned out to have been taken before, nobody knows the offset.
        if error is None and message.offset() is not None:
            self.written.add((message.partition(), message.offset()))
