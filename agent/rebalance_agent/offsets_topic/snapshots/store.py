"""Keeps snapshots of the offsets topic's partitions in a compacted topic, for restarts and takeovers.

`Coverage` decides what a snapshot covers. It is written only after Kafka has acknowledged all events that the covered
records led to: the next observer reports events again that were lost with their observer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import structlog
from confluent_kafka import Producer

from rebalance_agent.cluster.agent_topics import DURABLE, create_topic
from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.cluster.topic_reader import TopicRecord, leader_epoch_of
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic.snapshots.codec import (
    VERSION,
    Marker,
    marker_key,
    marker_value,
    record_key,
    record_value,
)
from rebalance_agent.offsets_topic.snapshots.other_writer import OtherWriter
from rebalance_agent.offsets_topic.snapshots.partition import SnapshotPartition
from rebalance_agent.offsets_topic.snapshots.reader import Snapshot, SnapshotReader
from rebalance_agent.offsets_topic.snapshots.snapshot_producer import SnapshotProducer

__all__ = ["PENDING_BYTES_MAX", "TOPIC_CONFIG", "SnapshotStore"]

PENDING_BYTES_MAX = 32 * 1024 * 1024
"""Maximum number of bytes of all records that wait to be covered: more would wait only if events cannot be published
for long, or if a group floods its partition."""

PARTITIONS = 50
"""Partitions of the created topic if there is no offsets topic yet; otherwise it gets as many as the offsets topic."""

AGAIN_S = 60.0
"""Shortest time (seconds) between rebases, in which partitions are read again for their snapshots."""

QUEUE_KILOBYTES_MAX = 16 * 1024
"""librdkafka's queue of records to be written, in KiB; it holds several of the largest messages."""

MESSAGE_BYTES_MAX = 8 * 1024 * 1024
"""Largest message (bytes): a group's record of a megabyte, the offsets topic's default limit, must fit, with our
additions."""

TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    "max.message.bytes": str(MESSAGE_BYTES_MAX),
    # Only closed segments are compacted, and every start reads everything that is left.
    "segment.bytes": str(16 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
}


class SnapshotStore:
    """Writes and loads snapshots. Thread-safe: the tail's thread adds records, the tracker's thread covers offsets."""

    def __init__(
        self,
        context: CollectorContext,
        topic: str,
        owner: str,
        made_from: str,
        *,
        make: Callable[[dict[str, Any]], Producer] | None = None,
        reader: SnapshotReader | None = None,
    ) -> None:
        """Keep snapshots in ``topic`` for ``owner``; ``made_from`` names the cluster and the filter of groups."""
        self._context = context
        self._topic = topic
        self._owner = owner.encode()
        self._filter = made_from
        self._made_from = ""
        self._count = 0
        self._reader = reader or SnapshotReader(context, topic, self._owner)
        self._log = structlog.get_logger("rebalance_agent.snapshots")
        self._lock = threading.RLock()
        self._partitions: dict[int, SnapshotPartition] = {}
        self._restarted_at = float("-inf")
        self._failing = False
        settings = {
            "compression.type": "zstd",
            "queue.buffering.max.kbytes": QUEUE_KILOBYTES_MAX,
            "message.max.bytes": MESSAGE_BYTES_MAX,
            "message.timeout.ms": 30_000,
            **with_token_callback(context.properties),
            # A marker must not overtake its records.
            **DURABLE,
        }
        self._others = OtherWriter(topic, context.clock, expected=bool(owner))
        self._producer = SnapshotProducer(settings, context.clock, self._failed, make, self._others.delivered)

    # The tail's thread

    def load(self, bounds: Mapping[int, tuple[int, int]]) -> dict[int, Snapshot]:
        """Return the usable snapshots by partition; ``bounds``: partition -> start offset and end offset.

        Raises:
            ClusterError: brokers do not answer; the caller should try again.
        """
        begun = self._context.clock.monotonic()
        snapshots = self._reader.load(bounds, self._made_from) if self._prepare() else {}
        self._log.info(
            "snapshots_loaded",
            partitions=len(snapshots),
            of=len(bounds),
            records=sum(len(snapshot.records) for snapshot in snapshots.values()),
            seconds=round(self._context.clock.monotonic() - begun, 3),
        )
        return snapshots

    def _prepare(self) -> bool:
        """Find the topic, or create it if this is allowed, and set the source of snapshots (``made_from``).

        Return whether the topic existed, and so may contain snapshots.
        """
        cluster = self._context.cluster
        cluster_id, counts = cluster.identify()
        self._made_from = f"cluster {cluster_id}, {OFFSETS_TOPIC} {cluster.topic_id(OFFSETS_TOPIC)}, {self._filter}"
        existing = count = counts.get(self._topic, 0)
        if not existing:
            size = counts.get(OFFSETS_TOPIC, PARTITIONS)
            effect = "no snapshots until the topic exists: each start reads the whole offsets topic"
            if create_topic(cluster, self._topic, size, TOPIC_CONFIG, effect):
                count = size
        with self._lock:
            self._count = count
        return bool(existing)

    def begin(self, partition: int, base: Iterable[TopicRecord], snapshot: Snapshot | None) -> None:
        """Begin a partition with all old records: those of ``snapshot``, else the last one of each key in ``base``."""
        self._context.meters.snapshot_due(self._context.clock.now_ms())
        with self._lock:
            state = self._state(partition)
            if not state.missed:
                kept = self._reader.kept.get(partition, frozenset())
                state.begin(base, snapshot, self._context.clock.now_ms(), kept)

    def see(self, record: TopicRecord) -> None:
        """Process a record of a group that the tail read."""
        with self._lock:
            state = self._state(record.partition())
            if state.missed:
                return
            state.see(record)
            if sum(each.seen_bytes for each in self._partitions.values()) > PENDING_BYTES_MAX:
                largest = max(self._partitions.values(), key=lambda each: each.seen_bytes)
                self._too_large(largest, "events are not yet published")

    def reached(self, positions: Mapping[int, int]) -> None:
        """Record how far the tail has read partitions whose old records are all known (partition -> next offset)."""
        with self._lock:
            for partition, position in positions.items():
                self._state(partition).reached = position

    def missing(self, partitions: Collection[int]) -> frozenset[int]:
        """Return the ``partitions`` that must `begin` again with all records read so far."""
        with self._lock:
            if not (self._count and self._producer.working):
                return frozenset()
            states = [self._partitions[number] for number in partitions if number in self._partitions]
            restarted = frozenset(state.number for state in states if state.missed and state.restartable)
            now = self._context.clock.monotonic()
            if not restarted or now - self._restarted_at < AGAIN_S:
                return frozenset()
            self._restarted_at = now
            self._partitions |= {number: SnapshotPartition(number) for number in restarted}
        self._log.info("snapshots_begin_anew", topic=self._topic, partitions=len(restarted))
        return restarted

    def drop(self, partitions: Collection[int]) -> None:
        """Drop these partitions: another observer owns them now."""
        with self._lock:
            for partition in partitions:
                self._partitions.pop(partition, None)

    # The thread of the ownership

    def stored(self, partitions: Collection[int]) -> bool:
        """Whether each of the ``partitions`` that can get a snapshot has a snapshot."""
        with self._lock:
            states = [self._partitions[number] for number in partitions if number in self._partitions]
            return not self._producer.working or all(state.stored or state.missed for state in states)

    def _state(self, partition: int) -> SnapshotPartition:
        state = self._partitions.setdefault(partition, SnapshotPartition(partition))
        if not (self._count or state.missed):
            state.miss(restartable=True)
        return state

    # The thread of the topics' poll

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics, since the snapshots' topic may exist now."""
        count = partitions.get(self._topic, 0)
        with self._lock:
            if self._count or not (count and self._made_from):
                return
            self._count = count
        self._log.info("state_topic_found", topic=self._topic, partitions=count)

    # The tracker's thread

    def cover(self, positions: Mapping[int, int]) -> None:
        """Write snapshots up to ``positions`` (partition -> offset): records before them need not be read again."""
        with self._lock:
            if not self._count:
                return
            for partition, position in positions.items():
                state = self._partitions.get(partition)
                if state is None:
                    continue
                if state.missed:
                    state.restartable |= state.missed_at <= position <= state.reached
                elif state.covers(position):
                    state.cover(position)
                    self._write(state)
                    # Values are bounded by the offsets topic's own keys; tombstones are not.
                    if state.deletions_bytes > PENDING_BYTES_MAX:
                        self._too_large(state, "tombstones are not yet written")

    def serve(self) -> None:
        """Process Kafka's acknowledgements."""
        self._producer.serve()

    def close(self, timeout: float) -> None:
        """Send the queued records, for ``timeout`` seconds at most; the next observer reads unsent ones again."""
        self._producer.close(timeout)

    def _write(self, state: SnapshotPartition) -> None:
        now_ms = self._context.clock.now_ms()
        if not (self._producer.working and state.is_due(now_ms)):
            return
        size_bytes, partition = 0, state.number
        for key, record in list(state.due.items()):
            value = record.value()
            stored = None
            if value is not None:
                at_ms, epoch = record.timestamp()[1], leader_epoch_of(record)
                stored = record_value(state.series, record.offset(), at_ms, value, epoch)
            if not self._send(partition, record_key(self._owner, partition, key), stored, self._requeue(record)):
                return  # the queue is full: the rest follows later
            del state.due[key]
            size_bytes += len(key) + len(stored or b"")
        digest = state.digest
        marker = Marker(
            VERSION, state.series, state.position, len(digest.summands), digest.text, now_ms, self._made_from
        )

        def on_done(lost: str | None) -> None:
            if lost is None:
                self._failing, state.stored = False, True
                self._context.meters.snapshot_written(now_ms, size_bytes)
            else:
                state.written = -1  # due again

        if self._send(partition, marker_key(self._owner, partition), marker_value(marker), on_done):
            state.written, state.marked_ms = state.position, now_ms

    def _send(self, partition: int, key: bytes, value: bytes | None, on_done: Callable[[str | None], None]) -> bool:
        return self._producer.send(self._topic, partition % self._count, key, value, on_done)

    def _requeue(self, record: TopicRecord) -> Callable[[str | None], None]:
        """Return a callback that makes a lost record due again, unless its partition is gone or has a newer one."""

        def on_done(lost: str | None) -> None:
            if lost is None:
                return
            with self._lock:
                state = self._partitions.get(record.partition())
                if state and state.holds(record):
                    state.due.setdefault(record.key() or b"", record)

        return on_done

    def _too_large(self, state: SnapshotPartition, reason: str) -> None:
        """Stop the partition's snapshot; the written one stays valid, but covers less than it could."""
        state.miss(restartable=False)
        self._context.meters.snapshot_problem("too_large")
        self._log.warning(
            "snapshot_ended",
            topic=self._topic,
            partition=state.number,
            reason=f"more than {PENDING_BYTES_MAX >> 20} MiB of {reason}",
            effect="the snapshot of this partition is not updated until these are written; then it is rebuilt",
        )

    def _failed(self, reason: str) -> None:
        self._others.forget()
        self._context.meters.snapshot_problem("write")
        if not self._failing:
            self._failing = True
            self._log.warning("snapshot_not_written", topic=self._topic, reason=reason)
