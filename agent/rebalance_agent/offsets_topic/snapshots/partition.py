"""One partition of the offsets topic as its snapshot needs it: what is covered, written, and still to write. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.offsets_topic.snapshots.codec import Digest, StoredRecord
from rebalance_agent.offsets_topic.snapshots.reader import Snapshot

__all__ = ["MARKED_AGAIN_MS", "SnapshotPartition"]

MARKED_AGAIN_MS = 3_600_000
"""A snapshot that is old is not built on: where nothing comes for long, it is written down that it is still true."""

RECORD_BYTES = 200
"""Of a record besides its key and value, about: one that deletes a key takes memory, too."""


@dataclass(slots=True)
class SnapshotPartition:
    """``seen``: what the tail read and no snapshot covers; ``due``: what is covered and has still to be written.

    Offsets: all before ``position`` is covered, all before ``written`` is in the snapshot, all before ``reached`` read.
    ``stored``: Kafka has a snapshot of it. ``marked_ms``: when it was last written. ``begun``: it is known as a whole.
    ``missed``: something of it was not kept, so nothing more can be said of it until it begins anew, which is worth it
    once all before ``missed_at`` is covered (``restartable``).
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
        """It is known as a whole: by ``snapshot``, else ``base`` begins a ``series``.

        ``kept``: keys of all that the topic of the snapshots has of it.
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
            # No snapshot may end before what it holds.
            self.position = max(self.position, record.offset() + 1)
        # What no snapshot holds on to would stay in the topic for ever.
        for key in kept - self.digest.summands.keys():
            self.due[key] = StoredRecord(self.number, -1, 0, key, None)

    def see(self, record: TopicRecord) -> None:
        """The tail read it."""
        self.seen.append(record)
        self.seen_bytes += _size_bytes(record)

    def covers(self, position: int) -> bool:
        """Whether all before ``position`` may be called covered."""
        # Beyond what was read, it is said of an earlier time that this observer had the partition.
        return self.begun and self.position <= position <= self.reached

    def cover(self, position: int) -> None:
        """All before ``position``, which it `covers`, need not be read again."""
        self.position = position
        while self.seen and self.seen[0].offset() < position:
            record = self.seen.popleft()
            self.seen_bytes -= _size_bytes(record)
            self._take(record)

    def miss(self, *, restartable: bool) -> None:
        """Keep nothing more. ``restartable``: nothing that is still to be covered hinders a new beginning."""
        self.missed, self.begun, self.restartable = True, False, restartable
        self.missed_at = self.reached
        self.seen.clear()
        self.due.clear()
        self.digest = Digest()
        self.seen_bytes = 0

    def holds(self, record: TopicRecord) -> bool:
        """Whether ``record`` is the last one of its key, as far as it is covered."""
        return self.begun and self.digest.holds(record)

    def is_due(self, now_ms: int) -> bool:
        """Whether there is something to write, were it only that nothing came."""
        old = self.position == self.reached and now_ms - self.marked_ms >= MARKED_AGAIN_MS
        return self.position > self.written or bool(self.due) or old

    @property
    def deletions_bytes(self) -> int:
        """Of what is due and deletes a key."""
        return sum(_size_bytes(each) for each in self.due.values() if each.value() is None)

    def _take(self, record: TopicRecord) -> None:
        key = record.key() or b""
        if record.value() is None and key not in self.digest.summands:
            return  # there is nothing to delete
        self.digest.put(record)
        self.due[key] = record


def _size_bytes(record: TopicRecord) -> int:
    return RECORD_BYTES + len(record.key() or b"") + len(record.value() or b"")
