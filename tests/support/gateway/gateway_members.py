"""kafka-python and aiokafka members for gateways, and the conditions for members of all clients at the end."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from aiokafka import AIOKafkaConsumer
from aiokafka.abc import ConsumerRebalanceListener as AiokafkaListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

from rebalance_agent.clock import SystemClock
from support.gateway.running import gateway
from support.members.member_lines import Lines, owned_twice
from support.observer.observing import PATIENCE_S, eventually

__all__ = [
    "LONG_S",
    "AiokafkaMember",
    "KafkaPythonMember",
    "described",
    "joining",
    "read_by",
    "read_everything",
    "shares",
    "weighted",
]

LONG_S = 120
"""Seconds for brokers to elect new leaders, or for a Java program to start."""

ASSIGNORS = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}


class _Thread(Lines):
    """A consumer in a thread of this process; ``properties`` by librdkafka's names."""

    def __init__(self, bootstrap, group, topic, client_id, assignor="range", **properties):
        super().__init__()
        self._topic, self._assignor, self._clock, self._stop = topic, assignor, SystemClock(), threading.Event()
        self._settings = {
            "bootstrap_servers": bootstrap,
            "group_id": group,
            "client_id": client_id,
            "auto_offset_reset": "earliest",
            "auto_commit_interval_ms": 1_000,
            "heartbeat_interval_ms": 200,
            "metadata_max_age_ms": 1_000,  # a leader without metadata of the topic would not assign it
            "session_timeout_ms": 20_000,
            **{name.replace(".", "_"): value for name, value in properties.items()},
        }
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _reported(self, word, partitions):
        self.take_line(word, self._clock.now_ms(), *(each.partition for each in partitions))

    def _took(self, records):
        for batch in records.values():
            for each in batch:
                self.take_line("read", self._clock.now_ms(), each.partition, each.offset)

    def close(self):
        """Leave the group; repeated calls have no effect."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


class KafkaPythonMember(_Thread):
    """kafka-python's own consumer."""

    def _run(self):
        member = self

        class Listener(ConsumerRebalanceListener):
            def on_partitions_assigned(self, assigned):
                member._reported("assigned", assigned)

            def on_partitions_revoked(self, revoked):
                member._reported("revoked", revoked)

            def on_partitions_lost(self, lost):
                member._reported("lost", lost)

        consumer = KafkaConsumer(**self._settings, partition_assignment_strategy=(ASSIGNORS[self._assignor],))
        consumer.subscribe([self._topic], listener=Listener())
        while not self._stop.is_set():
            # kafka-python drops a join whose response takes longer than its poll, and raises without a reachable
            # broker.
            with contextlib.suppress(KafkaError):
                self._took(consumer.poll(timeout_ms=1_000))
        consumer.close()


class AiokafkaMember(_Thread):
    """aiokafka's own consumer, in its own event loop. It has only eager assignors; here range."""

    def _run(self):
        asyncio.run(self._consume())

    async def _consume(self):
        member, stopping = self, asyncio.Event()

        class Listener(AiokafkaListener):
            async def on_partitions_assigned(self, assigned):
                if not stopping.is_set():  # else it reads none of their records, and leaves without a call
                    member._reported("assigned", assigned)

            async def on_partitions_revoked(self, revoked):
                member._reported("revoked", revoked)

        consumer = AIOKafkaConsumer(**self._settings, partition_assignment_strategy=(AiokafkaRange,))
        consumer.subscribe([self._topic], listener=Listener())
        await consumer.start()
        try:
            while not self._stop.is_set():
                self._took(await consumer.getmany(timeout_ms=100))
        finally:
            # aiokafka does not call the listener on stop; only a commit and LeaveGroup follow, and then a successor
            # may begin.
            stopping.set()
            self.take_line("revoked", self._clock.now_ms(), *self.owned)
            await consumer.stop()


def _changes(members):
    """Each member's callbacks, a line each."""
    return "\n".join(
        f"member {number}: {at_ms} {word} {sorted(partitions)}"
        for number, member in enumerate(members)
        for word, at_ms, partitions in member.lines
        if word != "read"
    )


@contextlib.contextmanager
def joining(*, alone=True):
    """Yield a function that starts members; at the end, check that no member read records of partitions that it did
    not own and, if ``alone``, that no partition had two owners."""
    members = []
    with contextlib.ExitStack() as stack:

        def join(kind, *arguments, **properties):
            member = kind(*arguments, **properties)
            stack.callback(member.close)
            members.append(member)
            return member

        yield join
    assert [each.stale for each in members] == [[] for _ in members]
    twice = owned_twice(members) if alone else []
    assert not twice, f"(epoch ms, partition): {twice}\n{_changes(members)}"


def weighted(kafka, group, strategy, weight):
    """A gateway with a strategy for ``group``, and a weight for its members."""
    return gateway(kafka.bootstrap_servers, f"{group}={strategy},assignment.consumer.weight={weight}")


def shares(*members):
    """The number of partitions of each member."""
    return [len(each.owned) for each in members]


def read_by(*members):
    """(partition, offset) of all records that these members have read."""
    return set().union(*(dict(each.read) for each in members))  # copies, because members continue to read


def described(kafka, group):
    """The coordinator's description of the group; None if the request fails, as with a stopped coordinator."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    try:
        return admin.describe_consumer_groups([group])[group].result()
    except KafkaException:
        return None


def read_everything(load, *members):
    """Stop ``load``, and wait until the members have read all sent records."""
    load.stop()
    sent = {(partition, offset) for _, partition, offset in load.sent}
    eventually(lambda: sent <= read_by(*members), LONG_S, waiting_for=lambda: len(sent - read_by(*members)))
