"""The state of one partition's snapshot: the covered records, the written records, and the records to write. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from rebalance_agent.cluster.topic_reader import TopicRecord, record_bytes
from rebalance_agent.offsets_topic.snapshots.codec import Digest, StoredRecord
from rebalance_agent.offsets_topic.snapshots.reader import Snapshot

__all__ = ["MARKED_AGAIN_MS", "SnapshotPartition"]

MARKED_AGAIN_MS = 3_600_000
"""Interval (ms) at which the marker of an unchanged snapshot is written again, since readers refuse old snapshots."""

RECORD_BYTES = 200
"""Estimated bytes of a record in addition to its key and value: tombstones also take memory."""


@dataclass(slots=True)
class SnapshotPartition:
    """The records that one partition's snapshot covers, and the records still to be written.

    ``seen``: records that the tail has read and that no snapshot covers; ``due``: covered records still to be written.
    Offsets: records before ``position`` are covered, records before ``written`` are in the snapshot, and records before
    ``reached`` have been read. ``stored``: Kafka has a snapshot of the partition. ``marked_ms``: when its marker was
    last written (epoch ms). ``begun``: all its old records are known. ``missed``: a record was not kept; no new
    snapshot is written until the partition starts again, which is possible once all records before ``missed_at`` are
    covered (``restartable``).
    """

    number: int
    series: int = 0
    begun: bool = False
    missed: bool = False
    restartable: bool = False
    missed_at: int = -1
    position: int = -1
    written: int = -1
    stored: bool = False
    marked_ms: int = 0
    reached: int = -1
    seen_bytes: int = 0
    digest: Digest = field(default_factory=Digest)
    seen: deque[TopicRecord] = field(default_factory=deque)
    due: dict[bytes, TopicRecord] = field(default_factory=dict)

    def begin(
        self, base: Iterable[TopicRecord], snapshot: Snapshot | None, series: int, kept: frozenset[bytes]
    ) -> None:
        """Start with all old records: from ``snapshot`` or, without one, from ``base``, in a new ``series``.

        ``kept``: the keys of all this partition's records in the snapshots' topic.
        """
        self.begun = True
        if snapshot:
            self.series, self.stored = snapshot.series, True
            self.position = self.written = self.reached = snapshot.position
            self.marked_ms = snapshot.written_ms
            self.digest = Digest(snapshot.records)
        else:
            self.series = series
        for record in base:
            self._take(record)
            # A snapshot must not end before a record that it contains.
            self.position = max(self.position, record.offset() + 1)
        # Keys that are in no snapshot would stay in the topic forever.
        for key in kept - self.digest.summands.keys():
            self.due[key] = StoredRecord(self.number, -1, 0, key, None)

    def see(self, record: TopicRecord) -> None:
        """Process a record that the tail read."""
        self.seen.append(record)
        self.seen_bytes += _size_bytes(record)

    def covers(self, position: int) -> bool:
        """Whether the offsets before ``position`` can become covered now."""
        # A position beyond what was read is from an earlier period in which this observer owned the partition.
        return self.begun and self.position <= position <= self.reached

    def cover(self, position: int) -> None:
        """Cover all records before ``position`` (see `covers`): they need not be read again."""
        self.position = position
        while self.seen and self.seen[0].offset() < position:
            record = self.seen.popleft()
            self.seen_bytes -= _size_bytes(record)
            self._take(record)

    def miss(self, *, restartable: bool) -> None:
        """Discard all records. ``restartable``: the snapshot may start again at once, without earlier records."""
        self.missed, self.begun, self.restartable = True, False, restartable
        self.missed_at = self.reached
        self.seen.clear()
        self.due.clear()
        self.digest = Digest()
        self.seen_bytes = 0

    def holds(self, record: TopicRecord) -> bool:
        """Whether ``record`` is the newest covered record with its key."""
        return self.begun and self.digest.holds(record)

    def is_due(self, now_ms: int) -> bool:
        """Whether there is anything to write: records, a position, or the marker of an old snapshot."""
        old = self.position == self.reached and now_ms - self.marked_ms >= MARKED_AGAIN_MS
        return self.position > self.written or bool(self.due) or old

    @property
    def deletions_bytes(self) -> int:
        """Estimated bytes of the due records that delete a key."""
        return sum(_size_bytes(record) for record in self.due.values() if record.value() is None)

    def _take(self, record: TopicRecord) -> None:
        key = record.key() or b""
        if record.value() is None and key not in self.digest.summands:
            return  # the key is in no snapshot
        self.digest.put(record)
        self.due[key] = record


def _size_bytes(record: TopicRecord) -> int:
    return RECORD_BYTES + record_bytes(record)
