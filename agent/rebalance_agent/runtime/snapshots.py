"""Keeps snapshots of the partitions of the offsets topic in a compacted topic, so that a restart or a takeover goes on.

What a snapshot covers is decided by `Coverage`, and only counts once Kafka has acknowledged every event that it led to:
an event that was lost with its observer comes out again at the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from rebalance_agent.collectors.context import Context
from rebalance_agent.collectors.offsets_topic import OFFSETS_TOPIC
from rebalance_agent.collectors.snapshot_codec import (
    VERSION,
    Digest,
    Marker,
    StoredRecord,
    marker_key,
    marker_value,
    record_key,
    record_value,
)
from rebalance_agent.collectors.snapshots import Snapshot, SnapshotReader
from rebalance_agent.collectors.topic_reader import TopicRecord
from rebalance_agent.runtime.own_topics import KafkaProducer, create_topic
from rebalance_agent.runtime.snapshot_producer import SnapshotProducer

__all__ = ["PENDING_BYTES_MAX", "TOPIC_CONFIG", "SnapshotStore"]

PENDING_BYTES_MAX = 64 * 1024 * 1024
"""Records of one partition that wait to be covered: more means that events cannot be published for a long time."""

PARTITIONS = 50
"""Of a topic that we create before there is an offsets topic; else as many as that has."""

RECORD_BYTES = 200
"""Of a record besides its key and value, about: one that deletes a key takes memory, too."""

QUEUE_KILOBYTES_MAX = 32 * 1024
MESSAGE_BYTES_MAX = 8 * 1024 * 1024
"""A group's record of a megabyte, which is what the offsets topic takes by default, must fit with what we add."""

TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    "max.message.bytes": str(MESSAGE_BYTES_MAX),
    # Only closed segments are compacted, and all that is left is read at every start.
    "segment.bytes": str(16 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
}


@dataclass(slots=True)
class _Partition:
    """``seen``: what the tail read and no snapshot covers; ``due``: what is covered and has still to be written.

    Offsets: all before ``position`` is covered, all before ``written`` is in the snapshot, all before ``reached`` read.
    ``missed``: something of it was not kept, so nothing more can be said of it until it is dropped and begins anew.
    """

    series: int = 0
    begun: bool = False
    missed: bool = False
    position: int = -1
    written: int = -1
    reached: int = -1
    size_bytes: int = 0
    digest: Digest = field(default_factory=Digest)
    seen: deque[TopicRecord] = field(default_factory=deque)
    due: dict[bytes, TopicRecord] = field(default_factory=dict)


class SnapshotStore:
    """Thread-safe: the tail's thread brings records, the tracker's says what is covered."""

    def __init__(
        self,
        context: Context,
        topic: str,
        owner: str,
        made_from: str,
        *,
        written: Callable[[int, int], None],
        make: Callable[[dict[str, Any]], KafkaProducer] | None = None,
        reader: SnapshotReader | None = None,
    ) -> None:
        """Keep them in ``topic`` for ``owner``; ``made_from`` says of which cluster's which groups.

        ``written(now_ms, size_bytes)`` is told of every snapshot that Kafka acknowledged, and of the bytes of records
        that were sent for it.
        """
        self._context = context
        self._topic = topic
        self._owner = owner.encode()
        self._filter = made_from
        self._made_from = ""
        self._count = 0
        self._written = written
        self._reader = reader or SnapshotReader(context, topic, self._owner)
        self._log = structlog.get_logger("rebalance_agent.snapshots")
        self._lock = threading.RLock()
        self._partitions: dict[int, _Partition] = {}
        self._failing = False
        settings = {
            "compression.type": "zstd",
            "queue.buffering.max.kbytes": QUEUE_KILOBYTES_MAX,
            "message.max.bytes": MESSAGE_BYTES_MAX,
            "message.timeout.ms": 30_000,
            **context.properties,
            "acks": "all",
            # A marker must not overtake the records that it sums up.
            "enable.idempotence": True,
        }
        self._producer = SnapshotProducer(settings, context.clock, self._failed, make)

    # The tail's thread

    def load(self, bounds: Mapping[int, tuple[int, int]]) -> dict[int, Snapshot]:
        """See `collectors.snapshots.Snapshots`."""
        begun = self._context.clock.monotonic()
        self._prepare()
        snapshots = self._reader.load(bounds, self._made_from)
        self._log.info(
            "snapshots_loaded",
            partitions=len(snapshots),
            of=len(bounds),
            records=sum(len(each.records) for each in snapshots.values()),
            seconds=round(self._context.clock.monotonic() - begun, 3),
        )
        return snapshots

    def _prepare(self) -> None:
        """Find the topic, or create it where that is allowed; and say what a snapshot is made from now."""
        cluster = self._context.cluster
        cluster_id, counts = cluster.identify()
        topic_id = cluster.topic_ids([OFFSETS_TOPIC]).get(OFFSETS_TOPIC, "")
        self._made_from = f"cluster {cluster_id}, {OFFSETS_TOPIC} {topic_id}, {self._filter}"
        count = counts.get(self._topic, 0)
        if not count:
            wanted = counts.get(OFFSETS_TOPIC, PARTITIONS)
            effect = "no snapshots, until a restart after it was created: each start reads the whole offsets topic"
            if create_topic(cluster, self._topic, wanted, TOPIC_CONFIG, effect):
                count = wanted
        with self._lock:
            self._count = count

    def begin(self, partition: int, base: Iterable[TopicRecord], snapshot: Snapshot | None) -> None:
        """See `collectors.snapshots.Snapshots`."""
        with self._lock:
            state = self._partitions.setdefault(partition, _Partition())
            if not self._count:
                _miss(state)
            if state.missed:
                return
            state.begun = True
            if snapshot:
                state.series = snapshot.series
                state.position = state.written = state.reached = snapshot.position
                state.digest = Digest({record.key(): record.offset() for record in snapshot.records})
            else:
                state.series = self._context.clock.now_ms()
            for record in base:
                _cover(state, record)
            # What no snapshot holds on to would stay in the topic for ever.
            for key in self._reader.kept.get(partition, frozenset()) - state.digest.offsets.keys():
                state.due[key] = StoredRecord(partition, -1, 0, key, None)

    def see(self, record: TopicRecord) -> None:
        """See `collectors.snapshots.Snapshots`."""
        with self._lock:
            state = self._partitions.setdefault(record.partition(), _Partition())
            if not self._count:
                _miss(state)
            if state.missed:
                return
            state.seen.append(record)
            state.size_bytes += _size_bytes(record)
            if state.size_bytes > PENDING_BYTES_MAX:
                self._too_large(record.partition(), state, "its events wait to be published")

    def reached(self, positions: Mapping[int, int]) -> None:
        """See `collectors.snapshots.Snapshots`."""
        with self._lock:
            for partition, position in positions.items():
                self._partitions.setdefault(partition, _Partition()).reached = position

    def drop(self, partitions: Collection[int]) -> None:
        """See `collectors.snapshots.Snapshots`."""
        with self._lock:
            for partition in partitions:
                self._partitions.pop(partition, None)

    # The tracker's thread

    def cover(self, positions: Mapping[int, int]) -> None:
        """All that lies before ``positions`` (by partition) need not be read again: write down what it was."""
        with self._lock:
            if not self._count:
                return
            for partition, position in positions.items():
                state = self._partitions.get(partition)
                if state is None or not state.begun:
                    continue
                if position > state.reached:
                    continue  # said of an earlier time that this observer had the partition
                state.position = max(state.position, position)
                while state.seen and state.seen[0].offset() < state.position:
                    record = state.seen.popleft()
                    state.size_bytes -= _size_bytes(record)
                    _cover(state, record)
                self._write(partition, state)
                # Values are as many as the offsets topic has; what is to be deleted would become ever more.
                if sum(_size_bytes(each) for each in state.due.values() if each.value() is None) > PENDING_BYTES_MAX:
                    self._too_large(partition, state, "what is to be deleted waits to be written")

    def serve(self) -> None:
        """Take what Kafka has acknowledged."""
        self._producer.serve()

    def close(self, timeout: float) -> None:
        """Send what waits, ``timeout`` seconds at most. What is left is read again by whoever comes next."""
        self._producer.close(timeout)

    def _write(self, partition: int, state: _Partition) -> None:
        if not self._producer.working or (state.position <= state.written and not state.due):
            return
        size_bytes = 0
        for key, record in list(state.due.items()):
            value = record.value()
            stored = (
                None if value is None else record_value(state.series, record.offset(), record.timestamp()[1], value)
            )
            if not self._send(partition, record_key(self._owner, partition, key), stored, self._back(record)):
                return  # the queue is full: the rest follows
            del state.due[key]
            size_bytes += len(key) + len(stored or b"")
        now_ms, digest = self._context.clock.now_ms(), state.digest
        marker = Marker(
            VERSION, state.series, state.position, len(digest.offsets), digest.text, now_ms, self._made_from
        )

        def told(lost: str | None) -> None:
            if lost is None:
                self._failing = False
                self._written(now_ms, size_bytes)
            else:
                state.written = -1  # it is due again

        if self._send(partition, marker_key(self._owner, partition), marker_value(marker), told):
            state.written = state.position

    def _send(self, partition: int, key: bytes, value: bytes | None, told: Callable[[str | None], None]) -> bool:
        return self._producer.send(self._topic, partition % self._count, key, value, told)

    def _back(self, record: TopicRecord) -> Callable[[str | None], None]:
        """What was not written is due again, unless a newer record of its key is, or the partition went."""

        def told(lost: str | None) -> None:
            if lost is None:
                return
            key = record.key() or b""
            with self._lock:
                state = self._partitions.get(record.partition())
                if state and state.begun and state.digest.offsets.get(key) == _offset(record):
                    state.due.setdefault(key, record)

        return told

    def _too_large(self, partition: int, state: _Partition, reason: str) -> None:
        """What was written stays true; it only covers less than it could."""
        _miss(state)
        self._context.meters.snapshot_problem("too_large")
        self._log.warning(
            "snapshot_ended",
            topic=self._topic,
            partition=partition,
            reason=f"{reason}: more than {PENDING_BYTES_MAX >> 20} MiB",
            effect="the snapshot of this partition grows old, until a restart begins a new one",
        )

    def _failed(self, reason: str) -> None:
        self._context.meters.snapshot_problem("write")
        if not self._failing:
            self._failing = True
            self._log.warning("snapshot_not_written", topic=self._topic, reason=reason)


def _miss(state: _Partition) -> None:
    state.missed, state.begun = True, False
    state.seen.clear()
    state.due.clear()
    state.digest = Digest()
    state.size_bytes = 0


def _size_bytes(record: TopicRecord) -> int:
    return RECORD_BYTES + len(record.key() or b"") + len(record.value() or b"")


def _cover(state: _Partition, record: TopicRecord) -> None:
    key, offset = record.key() or b"", _offset(record)
    if offset is None and key not in state.digest.offsets:
        return  # there is nothing to delete
    state.digest.put(key, offset)
    state.due[key] = record


def _offset(record: TopicRecord) -> int | None:
    """Where the key's last record is; None: it was deleted."""
    return None if record.value() is None else record.offset()
