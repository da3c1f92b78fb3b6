"""DescribeShareGroupOffsets (KIP-932, KIP-1226), versions 0 and 1: how far share groups have come in each partition.

Version 1, of Kafka 4.2 and later, adds the lag: a share group has no committed offset, and records behind the start
offset may have been acknowledged already, so only the coordinator can count those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["SHARE_OFFSETS", "UNKNOWN_OFFSET", "decode_share_offsets", "encode_share_offsets"]

UNKNOWN_OFFSET = -1
"""The start offset of a partition that the group has not read yet, and a lag that is unknown to the coordinator."""

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

SHARE_OFFSETS = FlexibleApi(90, "DescribeShareGroupOffsets", range(2), _REQUEST, _ANSWER)


def encode_share_offsets(correlation_id: int, client_id: str, groups: Sequence[str], version: int) -> bytes:
    """Encode a request for all partitions of ``groups`` as a frame without its length.

    Raises:
        InvalidInputError: a name is too long.
    """
    fields = {"groups": [{"group_id": group, "topics": None} for group in groups]}
    return SHARE_OFFSETS.encode_request(version, correlation_id, client_id, fields)


def decode_share_offsets(frame: bytes, version: int) -> list[dict[str, Any]]:
    """Decode a response, a whole frame after its length, to its groups in the order of the request.

    Raises:
        DecodeError: the bytes are not one.
    """
    groups: list[dict[str, Any]] = SHARE_OFFSETS.decode_answer(version, frame)["groups"]
    return groups
