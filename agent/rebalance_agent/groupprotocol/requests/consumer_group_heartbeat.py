"""ConsumerGroupHeartbeat (KIP-848), request and response, versions 0 and 1.

A request contains what has changed for the member since its last request; the response contains its target assignment.
Topics are topic ids. ``member_epoch`` 0 joins, -1 leaves, -2 leaves temporarily (a static member).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["ASSIGNED_ANSWER", "CONSUMER_HEARTBEAT", "JOIN_EPOCH", "LEAVE_EPOCH", "STATIC_LEAVE_EPOCH", "UNCHANGED"]

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

ASSIGNED_ANSWER = (
    Field("throttle_time_ms", INT32),
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
    Field("member_id", STRING, nullable_since=0),
    Field("member_epoch", INT32),
    Field("heartbeat_interval_ms", INT32),
    Field("assignment", Struct(Field("topic_partitions", _PARTITIONS)), nullable_since=0),
)
"""The fields of the response, in which the assignment has topic ids; ShareGroupHeartbeat has the same fields."""

CONSUMER_HEARTBEAT = FlexibleApi(68, "ConsumerGroupHeartbeat", range(2), _REQUEST, ASSIGNED_ANSWER)
