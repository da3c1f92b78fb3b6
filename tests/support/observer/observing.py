"""An observer or a sidecar in this process, on free ports, and its pages."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.processes.observer import Observer
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.kafka_config import client_properties
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings

PATIENCE_S = 90
"""Longest time (seconds) of a wait: longer than any observed pause of a machine (`stillness`)."""

KIP_848 = {"group.protocol": "consumer", "heartbeat.interval.ms": None}
"""Properties of `members` whose coordinator assigns; librdkafka then rejects a heartbeat interval."""


def eventually(condition, seconds=PATIENCE_S, *, between=lambda: None, waiting_for=None):
    """Return the first true value of ``condition()``; fail after ``seconds``. ``between`` runs after each try."""
    clock, pause = SystemClock(), threading.Event()
    end = clock.monotonic() + seconds
    while not (value := condition()):
        assert clock.monotonic() < end, f"waited in vain: {waiting_for}"
        between()
        pause.wait(0.05)
    return value


def answered(ask, seconds=PATIENCE_S, *, refusal=ClusterError):
    """The result of ``ask()``, with retries: a machine can pause for longer than the timeout of a request.

    ``refusal``: the exception that causes a retry.
    """
    answers, refused = [], []

    def asked():
        try:
            answers.append(ask())
        except refusal as error:
            refused.append(error)
        return answers

    eventually(asked, seconds, waiting_for=refused)
    return answers[0]


def http(url, data=None):
    """Return status and text of the response to a request: GET, or POST with ``data``."""
    try:
        with urllib.request.urlopen(url, data, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


class Watched:
    """The read-only listener of a running role."""

    def __init__(self, role):
        self.role = role

    def get(self, path):
        return http(f"http://127.0.0.1:{self.role.port}{path}")

    def detail(self, group):
        """The group's details in the API; the group must be known."""
        return json.loads(self.get(f"/api/v1/groups/{group}")[1])

    def ready(self):
        return self.get("/readyz")[0] == 200

    def parts(self):
        return json.loads(self.get("/readyz")[1])["parts"]

    def metrics(self):
        lines = (line for line in self.get("/metrics")[1].splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def source(self, group):
        """The source of the group's facts; None if the group is unknown."""
        infos = [name for name in self.metrics() if name.startswith("kafka_rebalance_group_info")]
        named = [name for name in infos if f'"{group}"' in name]
        return named[0].split('source="')[1].split('"')[0] if named else None

    def metric(self, name, **labels):
        pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
        series = f"{name}{{{pairs}}}" if pairs else name
        # Tests send twenty requests per second, and the page of a shared broker has thousands of lines.
        value = f"\n{self.get('/metrics')[1]}".partition(f"\n{series} ")[2]
        return float(value.partition("\n")[0]) if value else None


@contextmanager
def running(role):
    stop, failures = threading.Event(), []

    def run():
        try:
            role.run(stop)
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    watched = Watched(role)
    try:
        eventually(lambda: failures or role.port)
        yield watched
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        assert failures == []


@contextmanager
def observing(bootstrap, *, wait=True, kafka=None, **settings):
    kafka = ({"bootstrap.servers": bootstrap} if bootstrap else {}) | (kafka or {})
    # Snapshots only in tests of snapshots: otherwise all observers of the session's broker would continue from each
    # other's.
    usual = {"listen": "127.0.0.1:0", "settle_seconds": 1, "state_topic": ""}
    chosen = ObserverSettings(kafka=kafka, **{**usual, **settings})
    with running(Observer(chosen, client_properties(chosen.kafka))) as watched:
        if wait:
            eventually(watched.ready)
        yield watched


@contextmanager
def beside(bootstrap, **settings):
    kafka = {"bootstrap.servers": bootstrap} if bootstrap else {}
    usual = {"kafka": kafka, "listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0"}
    chosen = SidecarSettings(**{**usual, **settings})
    with running(Sidecar(chosen, client_properties(chosen.kafka))) as watched:
        eventually(watched.ready)
        yield watched


def create_topic(bootstrap, name, partitions, replicas=1):
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, partitions, replicas)])[name].result()


@contextmanager
def members(bootstrap, group, topic, number=1, **properties):
    """confluent-kafka consumers in threads; a property of None is omitted. Yields a list of functions that close one
    member each."""
    closers = [_member(bootstrap, group, topic, properties) for _ in range(number)]
    try:
        yield closers
    finally:
        for close in closers:
            close()


@contextmanager
def slow_to_give_up(bootstrap, group, topic, **properties):
    """One member, as in `members`, whose revoked callback does not return until the yielded event is set."""
    released = threading.Event()
    close = _member(bootstrap, group, topic, properties, on_revoke=lambda *_: released.wait(PATIENCE_S))
    try:
        yield released
    finally:
        released.set()
        close()


def _member(bootstrap, group, topic, properties, **callbacks):
    usual = {"heartbeat.interval.ms": 200, "log_level": 0}
    settings = {"bootstrap.servers": bootstrap, "group.id": group, **usual, **properties}
    consumer = Consumer({name: value for name, value in settings.items() if value is not None})
    consumer.subscribe([topic], **callbacks)
    stop = threading.Event()

    def poll():
        while not stop.is_set():
            consumer.poll(0.05)
        consumer.close()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()

    def close():
        stop.set()
        thread.join(PATIENCE_S)

    return close


def commit(bootstrap, group, positions):
    """Commit for a group without members, as soon as its coordinator accepts it."""
    consumer, refused = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0}), []

    def committed():
        try:
            consumer.commit(offsets=positions, asynchronous=False)
        except KafkaException as error:
            refused.append(error)
            return False
        return True

    eventually(committed, waiting_for=refused)
    consumer.close()


def events(bootstrap, topic, *, group):
    """All events of ``group`` that are in the events topic, in order."""
    return [
        event
        for event in (json.loads(message.value()) for message in everything(bootstrap, topic))
        if event["group"] == group
    ]


def everything(bootstrap, topic, *, committed=False):
    """All records of a topic, from its beginning to its current end; ``committed``: none of aborted transactions."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "log_level": 0,
        }
    )
    found = []
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        left = len(partitions)
        while left:
            message = consumer.poll(10)
            assert message is not None, "the topic does not end"
            if message.error() is None:
                found.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                left -= 1  # others are temporary, such as a broken connection
    finally:
        consumer.close()
    return found
