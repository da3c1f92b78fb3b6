"""ConsumerGroupHeartbeat (KIP-848), request and response, versions 0 and 1.

A request contains what has changed for the member since its last request; the response contains its target assignment.
Topics are topic ids. ``member_epoch`` 0 joins, -1 leaves, -2 leaves temporarily (a static member).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_request, read_response, request_frame, response_frame
from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

__all__ = [
    "HEARTBEAT_KEY",
    "HEARTBEAT_VERSIONS",
    "JOIN_EPOCH",
    "LEAVE_EPOCH",
    "STATIC_LEAVE_EPOCH",
    "UNCHANGED",
    "decode_heartbeat",
    "decode_heartbeat_answer",
    "encode_heartbeat",
    "encode_heartbeat_answer",
]

HEARTBEAT_KEY = 68
"""API key of ConsumerGroupHeartbeat."""
HEARTBEAT_VERSIONS = range(2)
"""Versions of the request that can be decoded."""

JOIN_EPOCH = 0
"""Member epoch of a member that joins."""
LEAVE_EPOCH = -1
"""Member epoch of a member that leaves."""
STATIC_LEAVE_EPOCH = -2
"""Member epoch of a static member that leaves and may return."""

UNCHANGED: Mapping[str, Any] = MappingProxyType({
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout_ms": -1,
    "subscribed_topic_names": None,
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": None,
})  # fmt: skip
"""The fields of a request without changes since the member's last request; the group, member id and epoch are
missing."""

_PARTITIONS = Array(Struct(Field("topic_id", UUID), Field("partitions", Array(INT32))))

_REQUEST = (
    Field("group_id", STRING),
    Field("member_id", STRING),
    Field("member_epoch", INT32),
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("rebalance_timeout_ms", INT32),
    Field("subscribed_topic_names", Array(STRING), nullable_since=0),
    Field("subscribed_topic_regex", STRING, since=1, nullable_since=1),
    Field("server_assignor", STRING, nullable_since=0),
    Field("topic_partitions", _PARTITIONS, nullable_since=0),
)

_ANSWER = (
    Field("throttle_time_ms", INT32),
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
    Field("member_id", STRING, nullable_since=0),
    Field("member_epoch", INT32),
    Field("heartbeat_interval_ms", INT32),
    Field("assignment", Struct(Field("topic_partitions", _PARTITIONS)), nullable_since=0),
)

_REQUESTS = {version: struct_codec(_REQUEST, version, flexible=True) for version in HEARTBEAT_VERSIONS}
_ANSWERS = {version: struct_codec(_ANSWER, version, flexible=True) for version in HEARTBEAT_VERSIONS}


def decode_heartbeat(version: int, frame: bytes) -> dict[str, Any]:
    """Decode a request: the whole frame after its length, header included.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    what = f"ConsumerGroupHeartbeatRequest v{version}"
    return decode_whole(what, frame, lambda reader: read_request(reader, _REQUESTS[version]))


def decode_heartbeat_answer(version: int, frame: bytes) -> dict[str, Any]:
    """Decode the response to a request of ``version``; the frame as in `decode_heartbeat`.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    what = f"ConsumerGroupHeartbeatResponse v{version}"
    return decode_whole(what, frame, lambda reader: read_response(reader, _ANSWERS[version]))


def encode_heartbeat(version: int, correlation_id: int, client_id: str, fields: Mapping[str, Any]) -> bytes:
    """Encode a request as a frame without its length; ``fields`` as `decode_heartbeat` returns them.

    Raises:
        InvalidInputError: a field is missing, of the wrong type or too long.
    """
    return request_frame(HEARTBEAT_KEY, version, correlation_id, client_id, _REQUESTS[version], fields)


def encode_heartbeat_answer(version: int, correlation_id: int, fields: Mapping[str, Any]) -> bytes:
    """Encode the response to a request of ``version`` as a frame without its length.

    ``fields`` as `decode_heartbeat_answer` returns them.

    Raises:
        InvalidInputError: a field is missing, of the wrong type or too long.
    """
    return response_frame(correlation_id, _ANSWERS[version], fields)
