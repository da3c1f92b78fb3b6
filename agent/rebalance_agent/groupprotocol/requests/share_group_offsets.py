"""DescribeShareGroupOffsets (KIP-932, KIP-1226), versions 0 and 1: how far share groups have come in each partition.

Version 1, of Kafka 4.2 and later, adds the lag: a share group has no committed offset, and records behind the start
offset may have been acknowledged already, so only the coordinator can count those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_response, request_frame
from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

__all__ = [
    "SHARE_OFFSETS_KEY",
    "SHARE_OFFSETS_VERSIONS",
    "UNKNOWN_OFFSET",
    "decode_share_offsets",
    "encode_share_offsets",
]

SHARE_OFFSETS_KEY = 90
"""API key of DescribeShareGroupOffsets."""

SHARE_OFFSETS_VERSIONS = range(2)
"""Versions of the request that can be sent."""

UNKNOWN_OFFSET = -1
"""The start offset of a partition that the group has not read yet, and a lag that the coordinator does not know."""

_TOPIC = Struct(Field("topic_name", STRING), Field("partitions", Array(INT32)))
_REQUEST = (
    Field("groups", Array(Struct(Field("group_id", STRING), Field("topics", Array(_TOPIC), nullable_since=0)))),
)

_PARTITION = Struct(
    Field("partition_index", INT32),
    Field("start_offset", INT64),
    Field("leader_epoch", INT32),
    Field("lag", INT64, since=1),
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
)
_GROUP = Struct(
    Field("group_id", STRING),
    Field(
        "topics",
        Array(
            Struct(Field("topic_name", STRING), Field("topic_id", UUID), Field("partitions", Array(_PARTITION))),
        ),
    ),
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
)
_ANSWER = (Field("throttle_time_ms", INT32), Field("groups", Array(_GROUP)))

_REQUESTS = {version: struct_codec(_REQUEST, version, flexible=True) for version in SHARE_OFFSETS_VERSIONS}
_ANSWERS = {version: struct_codec(_ANSWER, version, flexible=True) for version in SHARE_OFFSETS_VERSIONS}


def encode_share_offsets(correlation_id: int, client_id: str, groups: Sequence[str], version: int) -> bytes:
    """Encode a request for all partitions of ``groups`` as a frame without its length.

    Raises:
        InvalidInputError: a name is too long.
    """
    fields = {"groups": [{"group_id": group, "topics": None} for group in groups]}
    return request_frame(SHARE_OFFSETS_KEY, version, correlation_id, client_id, _REQUESTS[version], fields)


def decode_share_offsets(frame: bytes, version: int) -> list[dict[str, Any]]:
    """Decode a response, a whole frame after its length, to its groups in the order of the request.

    Raises:
        DecodeError: the bytes are not one.
    """
    what = f"DescribeShareGroupOffsetsResponse v{version}"
    answer = decode_whole(what, frame, lambda reader: read_response(reader, _ANSWERS[version]))
    groups: list[dict[str, Any]] = answer["groups"]
    return groups
