"""ShareGroupDescribe (KIP-932), version 1: the members of share groups, which have no target assignment.

Version 0 belongs to the early access in Kafka 4.0.
"""

from __future__ import annotations

from rebalance_agent.groupprotocol.requests.describe_api import ASSIGNMENT, GROUP_HEAD, DescribeApi
from rebalance_agent.groupprotocol.wire.primitives import INT32, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["SHARE_DESCRIBE"]

_MEMBER = Struct(
    Field("member_id", STRING),
    Field("rack_id", STRING, nullable_since=0),
    Field("member_epoch", INT32),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("assignment", ASSIGNMENT),
)

_GROUP = (
    *GROUP_HEAD,
    Field("assignor_name", STRING),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32),
)

SHARE_DESCRIBE = DescribeApi(77, "ShareGroupDescribe", _GROUP, range(1, 2))
