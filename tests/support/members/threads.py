"""kafka-python members in threads, and a ledger of owned partitions and consumed records."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import Counter

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import ConsumerRebalanceListener

from rebalance_agent.clients.kafka_python import KafkaConsumer

PATIENCE = 30.0
NUMBER = itertools.count(1)


def until(condition, seconds=PATIENCE):
    """Wait until ``condition()`` is true; fail the test after ``seconds``."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        pause.wait(0.05)
    pytest.fail("the condition never came")


def create_topic(kafka, partitions, name=None):
    name = name or f"made-{next(NUMBER)}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE)
    # The controller has created it; other brokers get its metadata a little later.
    until(lambda: name in admin.list_topics(timeout=PATIENCE).topics)
    return name


class Ledger:
    """The owner of each partition over all members of a group, and the number of reads of each record."""

    def __init__(self):
        self.owners = {}
        self.doubled = []
        self.consumed = Counter()
        self.lock = threading.Lock()

    def of(self, member):
        """The listener of one member."""
        return _Page(self, member)

    def record(self, records):
        with self.lock:
            self.consumed.update(
                (each.topic, each.partition, each.offset) for batch in records.values() for each in batch
            )

    def owned(self, member):
        with self.lock:
            return {partition for partition, owner in self.owners.items() if owner == member}


class _Page(ConsumerRebalanceListener):
    def __init__(self, ledger, member):
        self._ledger = ledger
        self._member = member

    def on_partitions_assigned(self, assigned):
        with self._ledger.lock:
            for each in assigned:
                other = self._ledger.owners.setdefault(each, self._member)
                if other != self._member:
                    self._ledger.doubled.append((each, other, self._member))

    def on_partitions_revoked(self, revoked):
        with self._ledger.lock:
            for each in revoked:
                if self._ledger.owners.get(each) == self._member:
                    del self._ledger.owners[each]

    on_partitions_lost = on_partitions_revoked


class Member:
    """A consumer that is polled by its own thread."""

    def __init__(self, consumer, ledger=None, poll_ms=200):
        self.consumer = consumer
        self.poll_ms = poll_ms
        self.error = None
        self._ledger = ledger
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            while not self._stop.is_set():
                records = self.consumer.poll(timeout_ms=self.poll_ms)
                if self._ledger is not None:
                    self._ledger.record(records)
        except Exception as error:  # noqa: BLE001 - the test checks it
            self.error = error

    def pause(self):
        """Stop polling; the consumer remains a member while it sends heartbeats."""
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def stop(self):
        self.pause()
        if self.error is not None:
            raise self.error

    def close(self):
        self.stop()
        self.consumer.close()

    def crash(self):
        """End without LeaveGroup: the coordinator removes the member after the session timeout."""
        self.pause()
        self.consumer._coordinator.maybe_leave_group = lambda **_: None
        self.consumer.close(autocommit=False)

    @property
    def owned(self):
        return self.consumer.assignment()

    @property
    def generation(self):
        return self.consumer.group_metadata().generation_id


class Crew:
    """Starts members of one group, and closes the remaining ones at the end."""

    def __init__(self, kafka, group=None, **configs):
        self.group = group or f"crew-{next(NUMBER)}"
        self.address = kafka.bootstrap_servers
        self.members = []
        self.ledger = Ledger()
        self._configs = configs

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.ExitStack() as ends:
            for member in self.members:
                ends.callback(member.close)

    def join(self, *topics, kind=KafkaConsumer, pattern=None, poll_ms=200, **configs):
        if kind is KafkaConsumer:
            configs.setdefault("events_url", "")
        consumer = kind(
            bootstrap_servers=self.address,
            group_id=self.group,
            **{
                "heartbeat_interval_ms": 200,
                "session_timeout_ms": 10_000,
                "auto_offset_reset": "earliest",
                **self._configs,
                **configs,
            },
        )
        consumer.subscribe(topics, pattern=pattern, listener=self.ledger.of(id(consumer)))
        member = Member(consumer, self.ledger, poll_ms)
        self.members.append(member)
        return member

    def leave(self, member):
        self.members.remove(member)
        member.close()

    def crash(self, member):
        self.members.remove(member)
        member.crash()

    @property
    def sizes(self):
        return [len(member.owned) for member in self.members]

    @property
    def settled(self):
        """Whether all members are in one generation."""
        return len({member.generation for member in self.members}) == 1 and self.members[0].generation > 0


class Load:
    """Produces to every partition of a topic until it is stopped; ``sent``: acknowledged records."""

    def __init__(self, kafka, topic, partitions, pause_seconds=0.02):
        self.sent = set()
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 1})
        self._topic = topic
        self._partitions = partitions
        self._pause = pause_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        for number in itertools.count():
            if self._stop.wait(self._pause):
                return
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % self._partitions, on_delivery=self._delivered
            )
            self._producer.poll(0)

    def _delivered(self, error, message):
        assert error is None
        self.sent.add((message.topic(), message.partition(), message.offset()))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stop.set()
        self._thread.join(PATIENCE)
        assert self._producer.flush(PATIENCE) == 0
