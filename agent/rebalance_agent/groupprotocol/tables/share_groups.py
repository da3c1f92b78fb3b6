"""Tables of share groups (KIP-932). Members share partitions, so that none is revoked before another member gets it."""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables.kind import TARGET_EPOCH, TOPIC_PARTITIONS, member_table, table
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = [
    "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    "SHARE_GROUP_MEMBER_METADATA",
    "SHARE_GROUP_METADATA",
    "SHARE_GROUP_STATE_PARTITION_METADATA",
    "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
    "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
]

SHARE_GROUP_MEMBER_METADATA = member_table(
    "share_group_member_metadata",
    10,
    Field("rack_id", STRING, nullable_since=0),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
)

SHARE_GROUP_METADATA = table(
    "share_group_metadata",
    11,
    Field("epoch", INT32),
    Field("metadata_hash", INT64),
)

SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = table("share_group_target_assignment_metadata", 12, *TARGET_EPOCH)

SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = member_table(
    "share_group_target_assignment_member",
    13,
    Field("topic_partitions", TOPIC_PARTITIONS),
)

SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = member_table(
    "share_group_current_member_assignment",
    14,
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("assigned_partitions", TOPIC_PARTITIONS),
)

_NAMED = (Field("topic_id", UUID), Field("topic_name", STRING))
_NAMED_PARTITIONS = Array(Struct(*_NAMED, Field("partitions", Array(INT32))))

SHARE_GROUP_STATE_PARTITION_METADATA = table(
    "share_group_state_partition_metadata",
    15,
    Field("initializing_topics", _NAMED_PARTITIONS),
    Field("initialized_topics", _NAMED_PARTITIONS),
    Field("deleting_topics", Array(Struct(*_NAMED))),
)
