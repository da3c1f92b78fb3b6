"""Decodes records of ``__consumer_offsets`` to plain fields. Unknown kinds and versions are results, not errors.

`record_kind` reads two bytes, so that offset commits, nearly all of the topic, are skipped without decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.tables import RECORDS

__all__ = ["UNKNOWN", "Record", "decode_record", "key_version", "record_kind"]

UNKNOWN = "unknown"
"""The kind of a record whose key version has no table."""

_KINDS = tuple(RECORDS[version].kind if version in RECORDS else UNKNOWN for version in range(256))
_VERSION_BYTES = 2


@dataclass(frozen=True, slots=True)
class Record:
    """One record of ``__consumer_offsets``: the fields of its version under Kafka's names in snake case.

    Bytes stay bytes. ``value`` is None for a tombstone (``value_version`` is None, too), for a value version without a
    table, and for an unknown kind. ``unknown_tags`` counts tagged fields that were skipped; ``size_bytes`` is the
    length of the value.
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
        """Whether this record deletes the value of its key."""
        return self.kind != UNKNOWN and self.value_version is None

    @property
    def unknown(self) -> bool:
        """Whether the kind or the version of the value has no table."""
        return self.value is None and (self.kind == UNKNOWN or self.value_version is not None)


def record_kind(key: bytes) -> str:
    """Return the kind of the record with this ``key``; `UNKNOWN` if no table has it or the key is too short."""
    return _KINDS[key[1]] if len(key) >= _VERSION_BYTES and not key[0] else UNKNOWN


def key_version(key: bytes) -> int | None:
    """Return the version of a record's key, which determines the kind of record; None for a key that is too short."""
    return int.from_bytes(key[:_VERSION_BYTES], "big", signed=True) if len(key) >= _VERSION_BYTES else None


def decode_record(key: bytes, value: bytes | None) -> Record:
    """Decode a record.

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
