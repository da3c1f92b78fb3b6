"""Records of ``__consumer_offsets`` as plain fields, read by `tables`; what no table knows is said, not raised.

`record_kind` looks at two bytes, so that the offset commits, nearly all of the topic, are skipped without decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.tables import RECORDS

__all__ = ["UNKNOWN", "Record", "decode_record", "key_version", "record_kind"]

UNKNOWN = "unknown"
"""The kind of a record whose key no table knows."""

_KINDS = tuple(RECORDS[version].kind if version in RECORDS else UNKNOWN for version in range(256))
_VERSION_BYTES = 2


@dataclass(frozen=True, slots=True)
class Record:
    """One record. Fields are as their version has them, under Kafka's names in snake case; bytes are bytes.

    ``value`` is None for a tombstone (then ``value_version`` is None too), for a value version that no table knows, and
    for an unknown kind. ``unknown_tags`` counts tagged fields that were skipped, ``size_bytes`` is the value's length.
    """

    kind: str
    key_version: int
    key: Mapping[str, Any] = field(default_factory=dict)
    value_version: int | None = None
    value: Mapping[str, Any] | None = None
    unknown_tags: int = 0
    size_bytes: int = 0

    @property
    def group(self) -> str:
        """The group id; empty for an unknown kind."""
        return str(self.key.get("group", ""))

    @property
    def tombstone(self) -> bool:
        """Whether this record deletes what its key names."""
        return self.kind != UNKNOWN and self.value_version is None

    @property
    def unknown(self) -> bool:
        """Whether the kind or the value's version is one that no table knows."""
        return self.value is None and (self.kind == UNKNOWN or self.value_version is not None)


def record_kind(key: bytes) -> str:
    """What kind of record has this key: a table's kind or `UNKNOWN`, also where the key is too short to tell."""
    return _KINDS[key[1]] if len(key) >= _VERSION_BYTES and not key[0] else UNKNOWN


def key_version(key: bytes) -> int | None:
    """The version of a record's key, which says what kind of record it is; None where the key is too short for it."""
    return int.from_bytes(key[:_VERSION_BYTES], "big", signed=True) if len(key) >= _VERSION_BYTES else None


def decode_record(key: bytes, value: bytes | None) -> Record:
    """Read a record.

    Raises:
        DecodeError: key or value break their schema; names message, field and byte.
    """
    version = key_version(key)
    if version is None:
        raise DecodeError(f"a record's key has {len(key)} bytes, too few for its version")
    table = RECORDS.get(version)
    if table is None:
        return Record(UNKNOWN, version, size_bytes=len(value or b""))
    key_fields = table.key.decode(key).fields or {}
    if value is None:
        return Record(table.kind, version, key_fields)
    decoded = table.value.decode(value)
    return Record(table.kind, version, key_fields, decoded.version, decoded.fields, decoded.unknown_tags, len(value))
