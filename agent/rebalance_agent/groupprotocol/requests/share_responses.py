"""Reads and changes the brokers in responses to ShareFetch and ShareAcknowledge (KIP-932).

kafka-python has no class for these responses. A response names brokers only if a partition's leader has moved. The
fields before the brokers are read to find the brokers, and all other bytes are kept unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, decode_whole
from rebalance_agent.groupprotocol.wire.frames import skip_response_head, skip_tags
from rebalance_agent.groupprotocol.wire.primitives import BYTES, INT16, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["SHARE_NEWEST", "SHARE_OLDEST", "ShareResponse", "read_share_response"]

_FETCH, _ACKNOWLEDGE = 78, 79
_NAMES = {_FETCH: "ShareFetchResponse", _ACKNOWLEDGE: "ShareAcknowledgeResponse"}
SHARE_OLDEST = 1
"""Oldest version that is read here: version 0, of the early access in Kafka 4.0, has another schema."""

SHARE_NEWEST: Mapping[int, int] = {_FETCH: 2, _ACKNOWLEDGE: 2}
"""API key -> newest version that is read here."""

_LEADER = Struct(Field("leader_id", INT32), Field("leader_epoch", INT32))
_ACQUIRED = Struct(Field("first_offset", INT64), Field("last_offset", INT64), Field("delivery_count", INT16))
_ERROR = (Field("error_code", INT16), Field("error_message", STRING, nullable_since=0))

_FETCHED = Struct(
    Field("partition_index", INT32),
    *_ERROR,
    Field("acknowledge_error_code", INT16),
    Field("acknowledge_error_message", STRING, nullable_since=0),
    Field("current_leader", _LEADER),
    Field("records", BYTES, nullable_since=0),
    Field("acquired_records", Array(_ACQUIRED)),
)
_ACKNOWLEDGED = Struct(Field("partition_index", INT32), *_ERROR, Field("current_leader", _LEADER))

_BEFORE: Mapping[int, tuple[Field, ...]] = {
    _FETCH: (
        Field("throttle_time_ms", INT32),
        *_ERROR,
        Field("acquisition_lock_timeout_ms", INT32),
        Field("responses", Array(Struct(Field("topic_id", UUID), Field("partitions", Array(_FETCHED))))),
    ),
    _ACKNOWLEDGE: (
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
        field.codec(version, flexible=True).read for field in fields if field.since <= version <= field.until
    ]
    for key, fields in _BEFORE.items()
    for version in range(SHARE_OLDEST, SHARE_NEWEST[key] + 1)
}


@dataclass(frozen=True, slots=True)
class ShareResponse:
    """A response with its ``brokers`` (``node_id``, ``host``, ``port``, ``rack``), which may be changed."""

    before: bytes
    brokers: Sequence[SimpleNamespace]
    after: bytes

    def frame(self) -> bytes:
        """Return the response with the current ``brokers``."""
        out = bytearray(self.before)
        _BROKERS.write(out, [vars(broker) for broker in self.brokers])
        return bytes(out) + self.after


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
        for read_field in readers:
            read_field(reader)
        begin = reader.at
        brokers = [SimpleNamespace(**broker) for broker in _BROKERS.read(reader)]
        end = reader.at
        skip_tags(reader)
        return ShareResponse(frame[:begin], brokers, frame[end:])

    return decode_whole(what, frame, read)
