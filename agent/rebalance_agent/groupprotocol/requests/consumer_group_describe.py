"""ConsumerGroupDescribe (KIP-848), versions 0 and 1: the members of groups whose coordinator assigns.

A static member that left for a while (`consumer_group_heartbeat`) is still described, with member epoch -2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rebalance_agent.groupprotocol.requests.describe_api import ASSIGNMENT, GROUP_HEAD, DescribeApi
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT32, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = [
    "CONSUMER_DESCRIBE",
    "DESCRIBE_KEY",
    "DESCRIBE_VERSION",
    "TYPED_VERSION",
    "decode_description",
    "encode_describe",
]

DESCRIBE_KEY = 69
"""API key of ConsumerGroupDescribe."""
DESCRIBE_VERSION = 0
"""The first version of the API, which all brokers with KIP-848 groups have."""
TYPED_VERSION = 1
"""The first version that distinguishes members of the classic protocol; brokers of Kafka 4.0 and later have it."""

_MEMBER = Struct(
    Field("member_id", STRING),
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("member_epoch", INT32),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("subscribed_topic_regex", STRING, nullable_since=0),
    Field("assignment", ASSIGNMENT),
    Field("target_assignment", ASSIGNMENT),
    Field("member_type", INT8, since=TYPED_VERSION),
)

_GROUP = (
    *GROUP_HEAD,
    Field("assignor_name", STRING),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32),
)

CONSUMER_DESCRIBE = DescribeApi(
    DESCRIBE_KEY, "ConsumerGroupDescribe", _GROUP, range(DESCRIBE_VERSION, TYPED_VERSION + 1)
)
"""The API. With `TYPED_VERSION`, each member has ``member_type``: -1 unknown, 0 classic, 1 consumer."""


def encode_describe(
    correlation_id: int, client_id: str, groups: Sequence[str], version: int = DESCRIBE_VERSION
) -> bytes:
    """Encode a request for ``groups`` as a frame without its length.

    Raises:
        InvalidInputError: a name is too long.
    """
    return CONSUMER_DESCRIBE.encode(correlation_id, client_id, groups, version)


def decode_description(frame: bytes, version: int = DESCRIBE_VERSION) -> list[dict[str, Any]]:
    """Decode the response, a whole frame after its length, to its groups in the order of the request.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    return CONSUMER_DESCRIBE.decode(frame, version)
