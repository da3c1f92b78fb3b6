"""ConsumerGroupDescribe (KIP-848), versions 0 and 1: the members of groups whose coordinator assigns.

A static member that left for a while (`consumer_group_heartbeat`) is still described, with member epoch -2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_response, request_frame
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT16, INT32, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

__all__ = ["DESCRIBE_KEY", "DESCRIBE_VERSION", "TYPED_VERSION", "decode_description", "encode_describe"]

DESCRIBE_KEY = 69
"""API key of ConsumerGroupDescribe."""
DESCRIBE_VERSION = 0
"""Its first version: all brokers with groups of KIP-848 have it."""
TYPED_VERSION = 1
"""The first version that distinguishes members of the classic protocol; brokers of Kafka 4.0 and later have it."""

_REQUEST = (Field("group_ids", Array(STRING)), Field("include_authorized_operations", INT8))

_PARTITIONS = Array(
    Struct(Field("topic_id", UUID), Field("topic_name", STRING), Field("partitions", Array(INT32))),
)
_ASSIGNMENT = Struct(Field("topic_partitions", _PARTITIONS))

_MEMBER = Struct(
    Field("member_id", STRING),
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("member_epoch", INT32),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("subscribed_topic_regex", STRING, nullable_since=0),
    Field("assignment", _ASSIGNMENT),
    Field("target_assignment", _ASSIGNMENT),
    Field("member_type", INT8, since=TYPED_VERSION),
)

_GROUP = Struct(
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
    Field("group_id", STRING),
    Field("group_state", STRING),
    Field("group_epoch", INT32),
    Field("assignment_epoch", INT32),
    Field("assignor_name", STRING),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32),
)

_ANSWER = (Field("throttle_time_ms", INT32), Field("groups", Array(_GROUP)))

_VERSIONS = (DESCRIBE_VERSION, TYPED_VERSION)
_REQUESTS = {version: struct_codec(_REQUEST, version, flexible=True) for version in _VERSIONS}
_ANSWERS = {version: struct_codec(_ANSWER, version, flexible=True) for version in _VERSIONS}


def encode_describe(
    correlation_id: int, client_id: str, groups: Sequence[str], version: int = DESCRIBE_VERSION
) -> bytes:
    """Encode a request for ``groups`` as a frame without its length.

    Raises:
        InvalidInputError: a name is too long.
    """
    fields = {"group_ids": list(groups), "include_authorized_operations": 0}
    return request_frame(DESCRIBE_KEY, version, correlation_id, client_id, _REQUESTS[version], fields)


def decode_description(frame: bytes, version: int = DESCRIBE_VERSION) -> list[dict[str, Any]]:
    """Decode the response, a whole frame after its length: its groups, in the order of the request.

    With `TYPED_VERSION` each member has ``member_type``: -1 unknown, 0 classic, 1 consumer.

    Raises:
        DecodeError: the bytes are not one.
    """
    what = f"ConsumerGroupDescribeResponse v{version}"
    answer = decode_whole(what, frame, lambda reader: read_response(reader, _ANSWERS[version]))
    groups: list[dict[str, Any]] = answer["groups"]
    return groups
