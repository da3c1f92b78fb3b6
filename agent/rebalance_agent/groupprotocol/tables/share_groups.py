"""Tables of share groups (KIP-932). Members share partitions, so that none is revoked before another member gets it."""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables.kind import (
    TOPIC_PARTITIONS,
    RecordTable,
    group_key,
    member_key,
    target_metadata,
    value,
)
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = [
    "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    "SHARE_GROUP_MEMBER_METADATA",
    "SHARE_GROUP_METADATA",
    "SHARE_GROUP_STATE_PARTITION_METADATA",
    "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
    "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
    "SHARE_TABLES",
]

SHARE_GROUP_MEMBER_METADATA = RecordTable(
    "share_group_member_metadata",
    member_key("ShareGroupMemberMetadataKey", 10),
    value(
        "ShareGroupMemberMetadataValue",
        Field("rack_id", STRING, nullable_since=0),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("subscribed_topic_names", Array(STRING)),
    ),
)

SHARE_GROUP_METADATA = RecordTable(
    "share_group_metadata",
    group_key("ShareGroupMetadataKey", 11),
    value("ShareGroupMetadataValue", Field("epoch", INT32), Field("metadata_hash", INT64)),
)

SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = RecordTable(
    "share_group_target_assignment_metadata",
    group_key("ShareGroupTargetAssignmentMetadataKey", 12),
    target_metadata("ShareGroupTargetAssignmentMetadataValue"),
)

SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = RecordTable(
    "share_group_target_assignment_member",
    member_key("ShareGroupTargetAssignmentMemberKey", 13),
    value("ShareGroupTargetAssignmentMemberValue", Field("topic_partitions", TOPIC_PARTITIONS)),
)

SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = RecordTable(
    "share_group_current_member_assignment",
    member_key("ShareGroupCurrentMemberAssignmentKey", 14),
    value(
        "ShareGroupCurrentMemberAssignmentValue",
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("assigned_partitions", TOPIC_PARTITIONS),
    ),
)

_NAMED = (Field("topic_id", UUID), Field("topic_name", STRING))
_NAMED_PARTITIONS = Array(Struct(*_NAMED, Field("partitions", Array(INT32))))

SHARE_GROUP_STATE_PARTITION_METADATA = RecordTable(
    "share_group_state_partition_metadata",
    group_key("ShareGroupStatePartitionMetadataKey", 15),
    value(
        "ShareGroupStatePartitionMetadataValue",
        Field("initializing_topics", _NAMED_PARTITIONS),
        Field("initialized_topics", _NAMED_PARTITIONS),
        Field("deleting_topics", Array(Struct(*_NAMED))),
    ),
)

SHARE_TABLES = (
    SHARE_GROUP_MEMBER_METADATA,
    SHARE_GROUP_METADATA,
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA,
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER,
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    SHARE_GROUP_STATE_PARTITION_METADATA,
)
