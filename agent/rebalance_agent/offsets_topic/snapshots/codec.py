"""A snapshot of one partition of the offsets topic, as records of a compacted topic. Pure.

The snapshot of a partition consists of the records that compaction would leave of its group records before a
*position*: the last record of each key, with its offset, timestamp and value, under its own key; plus one *marker* with
the position, and the number and digest of these records. Values are overwritten while a newer snapshot is written, so a
reader takes the records before the last marker, and uses them only if number and digest match. This detects missing and
altered records, and records from another writer. A digest is not a signature: anyone with Write on the topic can write
a valid marker. Successive snapshots form a *series*; records left by an older series are reported, so that they can be
deleted.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_agent.cluster.topic_reader import TopicRecord, leader_epoch_of
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

VERSION = 3
"""Version of values and markers: snapshots of other versions are not used, but overwritten."""

KEY_VERSION = 1
"""Version of keys, separate from `VERSION`: records under keys of an old version would never be overwritten."""

MARKER_BYTES_MAX = 4_096
"""Largest marker (bytes) that is read; real markers have a few hundred bytes."""

_KEY = struct.Struct(">BBHi")  # key version, kind, length of the owner, partition
_VALUE = struct.Struct(">Bqqqi")  # version, series, offset, timestamp, leader epoch
_SUMMED = struct.Struct(">qqiI")  # offset, timestamp, leader epoch, length of the key
_RECORD, _MARKER = 1, 2


@dataclass(frozen=True, slots=True)
class Marker:
    """The extent and the source of a snapshot; a reader with a different ``made_from`` ignores the snapshot.

    ``position``: the first offset that is not covered. ``records``, ``digest``: the number and the digest of the
    snapshot's records.
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
    """A record of the offsets topic as kept in a snapshot, with the methods of `TopicRecord`."""

    from_partition: int
    at_offset: int
    timestamp_ms: int
    key_bytes: bytes
    value_bytes: bytes | None
    written_in_epoch: int | None = None

    def __len__(self) -> int:
        """The length of the value in bytes."""
        return len(self.value_bytes or b"")

    def partition(self) -> int:
        """Return the partition in the offsets topic."""
        return self.from_partition

    def offset(self) -> int:
        """Return the offset in the offsets topic."""
        return self.at_offset

    def key(self) -> bytes:
        """Return the key."""
        return self.key_bytes

    def value(self) -> bytes | None:
        """Return the value; None for a tombstone."""
        return self.value_bytes

    def headers(self) -> None:
        """None: records of the offsets topic have no headers."""
        return

    def timestamp(self) -> tuple[int, int]:
        """Return the timestamp's type (create time), and epoch milliseconds."""
        return (1, self.timestamp_ms)

    def leader_epoch(self) -> int | None:
        """Return the epoch of the leader that wrote the record; None if unknown."""
        return self.written_in_epoch


@dataclass(frozen=True, slots=True)
class _Entry:
    series: int
    record: StoredRecord


class Digest:
    """A digest of the last record of each key (offset, timestamp, epoch and value), independent of the order of keys.

    ``summands``: key -> hash of its record. Records are hashed once and not kept: values may have a megabyte each.
    """

    def __init__(self, records: Iterable[TopicRecord] = ()) -> None:
        """Digest ``records``."""
        self.summands: dict[bytes, int] = {}
        self._sum = 0
        for record in records:
            self.put(record)

    def put(self, record: TopicRecord) -> None:
        """Add the record as the last one of its key; a tombstone removes the key."""
        key, summand = record.key() or b"", _summand(record)
        self._sum ^= self.summands.pop(key, 0)
        if summand is not None:
            self.summands[key] = summand
            self._sum ^= summand

    def holds(self, record: TopicRecord) -> bool:
        """Whether the record is the last one of its key."""
        return self.summands.get(record.key() or b"") == _summand(record)

    @property
    def text(self) -> str:
        """The digest as sixteen hexadecimal digits."""
        return f"{self._sum:016x}"


def _summand(record: TopicRecord) -> int | None:
    key, value = record.key() or b"", record.value()
    if value is None:
        return None
    head = _SUMMED.pack(record.offset(), record.timestamp()[1], leader_epoch_of(record), len(key))
    hashed = hashlib.blake2b(head + key, digest_size=8)
    hashed.update(value)
    return int.from_bytes(hashed.digest(), "big")


def record_key(owner: bytes, partition: int, key: bytes) -> bytes:
    """Return the key under which ``owner`` keeps the last record of ``key`` of a partition."""
    return _KEY.pack(KEY_VERSION, _RECORD, len(owner), partition) + owner + key


def record_value(series: int, offset: int, timestamp_ms: int, value: bytes, leader_epoch: int = -1) -> bytes:
    """Return the value of a kept record; a deleted record is written as a tombstone instead."""
    return _VALUE.pack(VERSION, series, offset, timestamp_ms, leader_epoch) + value


def marker_key(owner: bytes, partition: int) -> bytes:
    """Return the key under which ``owner`` keeps the marker of a partition."""
    return _KEY.pack(KEY_VERSION, _MARKER, len(owner), partition) + owner


def marker_value(marker: Marker) -> bytes:
    """Return the marker as readable JSON."""
    return json.dumps(value_to_json(marker), separators=(",", ":"), sort_keys=True).encode()


class SnapshotAssembly:
    """Assembles snapshots of some partitions of one ``owner`` from the records of the snapshots' topic."""

    def __init__(self, owner: bytes, partitions: Iterable[int]) -> None:
        """Start without records."""
        self.size_bytes = 0
        self._owner = owner
        self._unmarked: dict[int, dict[bytes, _Entry | None]] = {number: {} for number in partitions}
        self._marked: dict[int, dict[bytes, _Entry]] = {number: {} for number in partitions}
        self._markers: dict[int, Marker | InvalidInputError] = {}
        self._kept: dict[int, set[bytes]] = {number: set() for number in partitions}

    def add(self, key: bytes, value: bytes | None) -> None:
        """Process the next record, in the order of the topic; records of other owners and partitions are skipped."""
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
        """Return the last marker of a partition.

        Raises: InvalidInputError: the marker is malformed or of another version.
        """
        marker = self._markers.get(partition)
        if isinstance(marker, InvalidInputError):
            raise marker
        return marker

    def records(self, partition: int, marker: Marker) -> list[StoredRecord]:
        """Return the records before the last marker, in the order of the offsets topic.

        Raises: InvalidInputError: the records do not match the marker.
        """
        marked = [entry.record for entry in self._marked[partition].values() if entry.series == marker.series]
        if (len(marked), Digest(marked).text) != (marker.records, marker.digest):
            raise InvalidInputError("", f"its {len(marked)} records do not match the {marker.records} of its marker")
        if any(record.offset() >= marker.position for record in marked):
            raise InvalidInputError("", "a record is not before the marker's position")
        return sorted(marked, key=StoredRecord.offset)

    def keys(self, partition: int) -> frozenset[bytes]:
        """Return the keys of a partition's records, including records that are malformed or outside its snapshot."""
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
        # A malformed record counts as deleted, so the digest differs from the marker's; but its key is kept.
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
            version, series, offset, timestamp_ms, leader_epoch = _VALUE.unpack_from(value)
            if version == VERSION and offset >= 0 and leader_epoch >= -1:
                self.size_bytes += len(value)
                epoch = leader_epoch if leader_epoch >= 0 else None
                record = StoredRecord(partition, offset, timestamp_ms, key, value[_VALUE.size :], epoch)
                written[key] = _Entry(series, record)

    def _drop(self, entry: _Entry | None) -> None:
        if entry is not None:
            self.size_bytes -= _VALUE.size + len(entry.record.value() or b"")


def _marker(value: bytes | None) -> Marker:
    if not value or len(value) > MARKER_BYTES_MAX:
        raise InvalidInputError("marker", f"must have 1 to {MARKER_BYTES_MAX} bytes")
    marker = value_from_json(Marker, json_object(value))
    if marker.version != VERSION:
        raise InvalidInputError("marker", f"has version {marker.version}, not {VERSION}")
    if marker.position < 0:
        raise InvalidInputError("marker.position", "must not be negative")
    return marker
