"""ShareGroupHeartbeat (KIP-932), request and response, version 1.

A request contains what has changed for the member since its last request. Its member does not report its partitions,
since it has nothing to hand over. The response contains the partitions that the member should have, if they have
changed. ``member_epoch`` 0 joins, -1 leaves.
"""

from __future__ import annotations

from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import ASSIGNED_ANSWER
from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.wire.primitives import INT32, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field

__all__ = ["SHARE_HEARTBEAT"]

_REQUEST = (
    Field("group_id", STRING),
    Field("member_id", STRING),
    Field("member_epoch", INT32),
    Field("rack_id", STRING, nullable_since=0),
    Field("subscribed_topic_names", Array(STRING), nullable_since=0),
)

SHARE_HEARTBEAT = FlexibleApi(76, "ShareGroupHeartbeat", range(1, 2), _REQUEST, ASSIGNED_ANSWER)
