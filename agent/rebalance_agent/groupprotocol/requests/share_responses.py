"""Reads responses to ShareFetch and ShareAcknowledge (KIP-932), and changes the brokers in them.

kafka-python has no class for these responses. A response names brokers only if a partition's leader has moved. The
fields before the brokers are read to find the brokers and the acquired records; the records themselves are skipped. All
bytes except the brokers are kept unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, decode_whole
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.groupprotocol.wire.frames import skip_response_head, skip_tags
from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, INT64, STRING, UUID, Array, Codec, Form
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = [
    "SHARE_ACKNOWLEDGE",
    "SHARE_FETCH",
    "SHARE_NEWEST",
    "SHARE_OLDEST",
    "SharePartition",
    "ShareResponse",
    "read_share_response",
]

SHARE_FETCH = 78
"""API key of ShareFetch."""

SHARE_ACKNOWLEDGE = 79
"""API key of ShareAcknowledge."""

SharePartition = tuple[str, int]
"""Topic id and partition."""

_NAMES = {SHARE_FETCH: "ShareFetchResponse", SHARE_ACKNOWLEDGE: "ShareAcknowledgeResponse"}
SHARE_OLDEST = 1
"""Oldest version that is read here: version 0, of the early access in Kafka 4.0, has another schema."""

SHARE_NEWEST: Mapping[int, int] = {SHARE_FETCH: 2, SHARE_ACKNOWLEDGE: 2}
"""API key -> newest version that is read here."""


class _Skipped:
    """Bytes that are checked to be there, but not copied: a response may have megabytes of records."""

    def codec(self, _form: Form) -> Codec:
        def skip(reader: Reader) -> None:
            size = reader.count(None, 1, nullable=True) or 0
            reader.at += size

        def write(_out: bytearray, _value: object) -> None:
            raise TypeError("the bytes were not read")

        return Codec(skip, write, 1)


_LEADER = Struct(Field("leader_id", INT32), Field("leader_epoch", INT32))
_ACQUIRED = Struct(Field("first_offset", INT64), Field("last_offset", INT64), Field("delivery_count", INT16))
_ERROR = (Field("error_code", INT16), Field("error_message", STRING, nullable_since=0))

_FETCHED = Struct(
    Field("partition_index", INT32),
    *_ERROR,
    Field("acknowledge_error_code", INT16),
    Field("acknowledge_error_message", STRING, nullable_since=0),
    Field("current_leader", _LEADER),
    Field("records", _Skipped()),
    Field("acquired_records", Array(_ACQUIRED)),
)
_ACKNOWLEDGED = Struct(Field("partition_index", INT32), *_ERROR, Field("current_leader", _LEADER))

_BEFORE: Mapping[int, tuple[Field, ...]] = {
    SHARE_FETCH: (
        Field("throttle_time_ms", INT32),
        *_ERROR,
        Field("acquisition_lock_timeout_ms", INT32),
        Field("responses", Array(Struct(Field("topic_id", UUID), Field("partitions", Array(_FETCHED))))),
    ),
    SHARE_ACKNOWLEDGE: (
        Field("throttle_time_ms", INT32),
        *_ERROR,
        Field("acquisition_lock_timeout_ms", INT32, since=2),
        Field("responses", Array(Struct(Field("topic_id", UUID), Field("partitions", Array(_ACKNOWLEDGED))))),
    ),
}
"""API key -> the fields before the brokers."""

_BROKERS = Field(
    "node_endpoints",
    Array(
        Struct(
            Field("node_id", INT32),
            Field("host", STRING),
            Field("port", INT32),
            Field("rack", STRING, nullable_since=0),
        )
    ),
).codec(SHARE_OLDEST, flexible=True)

_READERS = {
    (key, version): [
        (field.name, field.codec(version, flexible=True).read)
        for field in fields
        if field.since <= version <= field.until
    ]
    for key, fields in _BEFORE.items()
    for version in range(SHARE_OLDEST, SHARE_NEWEST[key] + 1)
}


@dataclass(frozen=True, slots=True)
class ShareResponse:
    """A response with its ``brokers`` (``node_id``, ``host``, ``port``, ``rack``), which may be changed.

    ``acquired``: delivery count -> number of offsets that the consumer acquired. ``error_code``: that of the whole
    response; ``refused``: partitions whose acknowledgements the broker refused.
    """

    received: bytes
    brokers: Sequence[SimpleNamespace]
    brokers_at: slice
    acquired: Mapping[int, int]
    error_code: int
    refused: frozenset[SharePartition]

    def frame(self) -> bytes:
        """Return the response with the current ``brokers``."""
        out = bytearray(self.received[: self.brokers_at.start])
        _BROKERS.write(out, [vars(broker) for broker in self.brokers])
        return bytes(out) + self.received[self.brokers_at.stop :]


def read_share_response(api_key: int, version: int, frame: bytes) -> ShareResponse:
    """Read a response to one of the two APIs, a whole frame after its length.

    Raises:
        DecodeError: its version is not known, or the bytes do not follow their schema.
    """
    readers = _READERS.get((api_key, version))
    what = f"{_NAMES[api_key]} v{version}"
    if readers is None:
        raise DecodeError(f"{what}: only versions {SHARE_OLDEST} to {SHARE_NEWEST[api_key]} are supported")

    def read(reader: Reader) -> ShareResponse:
        skip_response_head(reader)
        fields = {name: read_field(reader) for name, read_field in readers}
        begin = reader.at
        brokers = [SimpleNamespace(**broker) for broker in _BROKERS.read(reader)]
        end = reader.at
        skip_tags(reader)
        refused = frozenset(_refused(fields["responses"], _ACKNOWLEDGED_BY[api_key]))
        acquired = _acquired(fields["responses"]) if api_key == SHARE_FETCH else {}
        return ShareResponse(frame, brokers, slice(begin, end), acquired, fields["error_code"], refused)

    return decode_whole(what, frame, read)


_ACKNOWLEDGED_BY = {SHARE_FETCH: "acknowledge_error_code", SHARE_ACKNOWLEDGE: "error_code"}
"""API key -> the field of a partition with the error of its acknowledgements."""


def _refused(topics: Sequence[Mapping[str, Any]], field: str) -> Iterator[SharePartition]:
    for topic in topics:
        for partition in topic["partitions"]:
            if partition[field] != NO_ERROR:
                yield topic["topic_id"], partition["partition_index"]


def _acquired(topics: Sequence[Mapping[str, Any]]) -> Mapping[int, int]:
    numbers: Counter[int] = Counter()
    for topic in topics:
        for partition in topic["partitions"]:
            for batch in partition["acquired_records"]:
                numbers[batch["delivery_count"]] += max(0, batch["last_offset"] - batch["first_offset"] + 1)
    return numbers
