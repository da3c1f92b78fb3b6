"""A snapshot of one partition of the offsets topic, as records of a compacted topic. Pure.

The snapshot of a partition is what compaction would leave of its group records before a *position*: of each key the
last record, with its offset, timestamp and value, under a key of its own; plus one *marker* that names the position and
sums up what belongs to it. Keys change in place while a newer snapshot is written, so a reader takes what stands before
the last marker, and takes it only if number and digest agree: a record that is missing, altered, or of another writer,
shows. That is no signature: who may write to the topic can write a marker that fits, too.
Snapshots that follow each other form a *series*; what an older series left over is told, so that it can be deleted.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import json_object, value_from_json, value_to_json

__all__ = [
    "MARKER_BYTES_MAX",
    "VERSION",
    "Digest",
    "Marker",
    "SnapshotAssembly",
    "StoredRecord",
    "marker_key",
    "marker_value",
    "record_key",
    "record_value",
]

VERSION = 2
"""Raised when the meaning of a value or a marker changes: snapshots of other versions are not used but written over."""

KEY_VERSION = 1
"""Raised when that of a key changes. Beside `VERSION`: under other keys, what an older one left would stay for ever."""

MARKER_BYTES_MAX = 4_096
"""A marker has a few hundred bytes."""

OWNER_BYTES_MAX = 32_767
"""Bytes of a group id in Kafka."""

_KEY = struct.Struct(">BBHi")  # key version, kind, length of the owner, partition
_VALUE = struct.Struct(">Bqqq")  # version, series, offset, timestamp
_SUMMED = struct.Struct(">qqI")  # offset, timestamp, length of the key
_RECORD, _MARKER = 1, 2


@dataclass(frozen=True, slots=True)
class Marker:
    """What a snapshot covers and was made from; a reader whose own facts differ from ``made_from`` ignores it.

    ``position``: the first offset that is not covered. ``records`` and ``digest``: of all records that belong to it.
    """

    version: int
    series: int
    position: int
    records: int
    digest: str
    written_ms: int
    made_from: str


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of the offsets topic that was kept elsewhere; read like one of the topic itself."""

    from_partition: int
    at_offset: int
    timestamp_ms: int
    key_bytes: bytes
    value_bytes: bytes | None

    def __len__(self) -> int:
        """Bytes of its value."""
        return len(self.value_bytes or b"")

    def partition(self) -> int:
        """Its partition in the offsets topic."""
        return self.from_partition

    def offset(self) -> int:
        """Its offset there."""
        return self.at_offset

    def key(self) -> bytes:
        """Its key."""
        return self.key_bytes

    def value(self) -> bytes | None:
        """Its value."""
        return self.value_bytes

    def headers(self) -> None:
        """None: the offsets topic uses none."""
        return

    def timestamp(self) -> tuple[int, int]:
        """Kind of timestamp (its creation), and epoch milliseconds."""
        return (1, self.timestamp_ms)


@dataclass(frozen=True, slots=True)
class _Entry:
    series: int
    record: StoredRecord


class Digest:
    """Sums up the last record of each key: offset, timestamp and value; the order in which they come does not matter.

    ``summands``: by key, what its record adds. A record is hashed once and not held: values may have a megabyte each.
    """

    def __init__(self, records: Iterable[TopicRecord] = ()) -> None:
        """Begin with ``records``."""
        self.summands: dict[bytes, int] = {}
        self._sum = 0
        for record in records:
            self.put(record)

    def put(self, record: TopicRecord) -> None:
        """It is the last one of its key now; without a value: the key is gone."""
        key, summand = record.key() or b"", _summand(record)
        self._sum ^= self.summands.pop(key, 0)
        if summand is not None:
            self.summands[key] = summand
            self._sum ^= summand

    def holds(self, record: TopicRecord) -> bool:
        """Whether it is the last one of its key."""
        return self.summands.get(record.key() or b"") == _summand(record)

    @property
    def text(self) -> str:
        """Sixteen hexadecimal digits."""
        return f"{self._sum:016x}"


def _summand(record: TopicRecord) -> int | None:
    key, value = record.key() or b"", record.value()
    if value is None:
        return None
    hashed = hashlib.blake2b(_SUMMED.pack(record.offset(), record.timestamp()[1], len(key)) + key, digest_size=8)
    hashed.update(value)
    return int.from_bytes(hashed.digest(), "big")


def record_key(owner: bytes, partition: int, key: bytes) -> bytes:
    """Where ``owner`` keeps the last record of ``key`` of a partition."""
    return _KEY.pack(KEY_VERSION, _RECORD, len(owner), partition) + owner + key


def record_value(series: int, offset: int, timestamp_ms: int, value: bytes) -> bytes:
    """That record; a deleted one has no value at all."""
    return _VALUE.pack(VERSION, series, offset, timestamp_ms) + value


def marker_key(owner: bytes, partition: int) -> bytes:
    """Where ``owner`` keeps the marker of a partition."""
    return _KEY.pack(KEY_VERSION, _MARKER, len(owner), partition) + owner


def marker_value(marker: Marker) -> bytes:
    """The marker as JSON, for people who look."""
    return json.dumps(value_to_json(marker), separators=(",", ":"), sort_keys=True).encode()


class SnapshotAssembly:
    """Puts the records of the snapshots' topic together again, for some partitions of one ``owner``."""

    def __init__(self, owner: bytes, partitions: Iterable[int]) -> None:
        """Begin with nothing."""
        self.size_bytes = 0
        self._owner = owner
        self._unmarked: dict[int, dict[bytes, _Entry | None]] = {number: {} for number in partitions}
        self._marked: dict[int, dict[bytes, _Entry]] = {number: {} for number in partitions}
        self._markers: dict[int, Marker | InvalidInputError] = {}
        self._kept: dict[int, set[bytes]] = {number: set() for number in partitions}

    def add(self, key: bytes, value: bytes | None) -> None:
        """Take the next record, in the order of the topic; others' are passed over."""
        if len(key) < _KEY.size:
            return
        version, kind, length, partition = _KEY.unpack_from(key)
        owner, rest = key[_KEY.size : _KEY.size + length], key[_KEY.size + length :]
        if version != KEY_VERSION or owner != self._owner or partition not in self._unmarked:
            return
        if kind == _MARKER:
            self._mark(partition, value)
        elif kind == _RECORD:
            self._write(partition, rest, value)

    def marker(self, partition: int) -> Marker | None:
        """The last marker of a partition.

        Raises:
            InvalidInputError: it is malformed or of another version.
        """
        marker = self._markers.get(partition)
        if isinstance(marker, InvalidInputError):
            raise marker
        return marker

    def records(self, partition: int, marker: Marker) -> list[StoredRecord]:
        """What stands before that last marker, in the order of the offsets topic.

        Raises:
            InvalidInputError: it is not what the marker sums up.
        """
        marked = [entry.record for entry in self._marked[partition].values() if entry.series == marker.series]
        if (len(marked), Digest(marked).text) != (marker.records, marker.digest):
            raise InvalidInputError("", f"{len(marked)} records are not the {marker.records} that its marker sums up")
        if any(record.offset() >= marker.position for record in marked):
            raise InvalidInputError("", "a record lies beyond the marker's position")
        return sorted(marked, key=StoredRecord.offset)

    def keys(self, partition: int) -> frozenset[bytes]:
        """Of all that is kept of a partition, whether or not it belongs to its snapshot, or can be read at all."""
        return frozenset(self._kept[partition])

    def _mark(self, partition: int, value: bytes | None) -> None:
        try:
            marker = _marker(value)
        except InvalidInputError as error:
            self._markers[partition] = error
            return
        self._markers[partition] = marker
        marked = self._marked[partition]
        for key, entry in self._unmarked[partition].items():
            self._drop(marked.pop(key, None))
            if entry is not None:
                marked[key] = entry
        self._unmarked[partition].clear()

    def _write(self, partition: int, key: bytes, value: bytes | None) -> None:
        # What is malformed counts as gone: then the sum is another one than the marker's. It is kept all the same.
        kept, written = self._kept[partition], self._unmarked[partition]
        if key not in kept and key not in written:
            self.size_bytes += len(key)
        self._drop(written.get(key))
        written[key] = None
        if value is None:
            kept.discard(key)
            return
        kept.add(key)
        if len(value) >= _VALUE.size:
            version, series, offset, timestamp_ms = _VALUE.unpack_from(value)
            if version == VERSION and offset >= 0:
                self.size_bytes += len(value)
                record = StoredRecord(partition, offset, timestamp_ms, key, value[_VALUE.size :])
                written[key] = _Entry(series, record)

    def _drop(self, entry: _Entry | None) -> None:
        if entry is not None:
            self.size_bytes -= _VALUE.size + len(entry.record.value() or b"")


def _marker(value: bytes | None) -> Marker:
    if not value or len(value) > MARKER_BYTES_MAX:
        raise InvalidInputError("marker", f"has not 1 to {MARKER_BYTES_MAX} bytes")
    marker = value_from_json(Marker, json_object(value))
    if marker.version != VERSION:
        raise InvalidInputError("marker", f"is of version {marker.version}, not {VERSION}")
    if marker.position < 0:
        raise InvalidInputError("marker.position", "is below 0")
    return marker
