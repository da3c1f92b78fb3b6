"""Decodes a record of ``__consumer_offsets``, and counts everything in it that could not be decoded."""

from __future__ import annotations

from rebalance_agent.cluster.collector_context import Meters
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.records import Record, decode_record, key_version

__all__ = ["decode_counted"]


def decode_counted(meters: Meters, key: bytes, value: bytes | None) -> Record | None:
    """Return the decoded record; None if it is malformed.

    ``meters`` count malformed records by their key's version, unknown versions, and unknown tagged fields.
    """
    try:
        record = decode_record(key, value)
    except DecodeError:
        meters.decode_error(key_version(key))
        return None
    if record.unknown:
        meters.unknown_record("value_version" if record.key else "key_version")
    if record.unknown_tags:
        meters.unknown_tagged_fields(record.unknown_tags)
    return record
