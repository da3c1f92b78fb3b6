"""Reads records of ``__consumer_offsets`` from lines of JSON, with keys and values in base64."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from rebalance_agent.errors import InvalidInputError

__all__ = ["RawRecord", "raw_json", "raw_record"]

_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record; a ``value`` of None is a tombstone. ``timestamp`` (epoch ms), partition and offset: None if missing."""

    key: bytes
    value: bytes | None
    timestamp: int | None
    partition: int | None
    offset: int | None


def raw_record(line: bytes) -> RawRecord:
    """Read ``{"key": BASE64, "value": BASE64 | null, "timestamp": MS, "partition": N, "offset": N}``.

    The last three fields may be absent.

    Raises:
        InvalidInputError: the line is not such an object.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("", f"not JSON ({error})") from None
    if not isinstance(record, dict):
        raise InvalidInputError("", "not a JSON object")
    key = _bytes(record, "key")
    if key is None:
        raise InvalidInputError("key", "must be base64, not null")
    value = _bytes(record, "value")
    timestamp = _number(record, "timestamp", "epoch milliseconds")
    position = (_number(record, name, "a whole number") for name in ("partition", "offset"))
    return RawRecord(key, value, timestamp, *position)


def raw_json(record: RawRecord) -> dict[str, Any]:
    """Return the object that `raw_record` reads."""
    key, value = (None if data is None else base64.b64encode(data).decode() for data in (record.key, record.value))
    return {
        "key": key,
        "value": value,
        "timestamp": record.timestamp,
        "partition": record.partition,
        "offset": record.offset,
    }


def _bytes(record: dict[str, Any], name: str) -> bytes | None:
    if name not in record:
        raise InvalidInputError(name, "is missing")
    text = record[name]
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidInputError(name, "must be base64 text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidInputError(name, f"not base64 ({error})") from None


def _number(record: dict[str, Any], name: str, what: str) -> int | None:
    number = record.get(name)
    if number is None or (isinstance(number, int) and not isinstance(number, bool) and number in _INT64):
        return number
    raise InvalidInputError(name, f"must be {what}")
