"""Tables of consumer groups (KIP-848): epochs, members, target and current assignments.

``state`` of a current assignment: 0 stable, 1 unrevoked (partitions to revoke), 2 unreleased (waits for partitions of
other members). Kafka 4.0 wrote partition metadata (key version 4); Kafka 4.1 and later delete such records.
"""

from __future__ import annotations

from types import MappingProxyType

from rebalance_agent.groupprotocol.tables.kind import TARGET_EPOCH, TOPIC_PARTITIONS, member_table, table
from rebalance_agent.groupprotocol.wire.primitives import BYTES, INT8, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = [
    "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    "CONSUMER_GROUP_MEMBER_METADATA",
    "CONSUMER_GROUP_METADATA",
    "CONSUMER_GROUP_PARTITION_METADATA",
    "CONSUMER_GROUP_REGULAR_EXPRESSION",
    "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
    "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
]

CONSUMER_GROUP_METADATA = table(
    "consumer_group_metadata",
    3,
    Field("epoch", INT32),
    Field("metadata_hash", INT64, tag=0, default=0),
)

CONSUMER_GROUP_PARTITION_METADATA = table(
    "consumer_group_partition_metadata",
    4,
    Field(
        "topics",
        Array(
            Struct(
                Field("topic_id", UUID),
                Field("topic_name", STRING),
                Field("num_partitions", INT32),
                Field(
                    "partition_metadata",
                    Array(Struct(Field("partition", INT32), Field("racks", Array(STRING)))),
                ),
            )
        ),
    ),
)

_CLASSIC_MEMBER = Struct(
    Field("session_timeout_ms", INT32),
    Field("supported_protocols", Array(Struct(Field("name", STRING), Field("metadata", BYTES)))),
)
"""A member that still uses the classic protocol, in a group that is being migrated."""

CONSUMER_GROUP_MEMBER_METADATA = member_table(
    "consumer_group_member_metadata",
    5,
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("subscribed_topic_regex", STRING, nullable_since=0),
    Field("rebalance_timeout_ms", INT32),
    Field("server_assignor", STRING, nullable_since=0),
    # Kafka reads an absent tag as an empty struct; only an explicit null means that the member is not classic.
    Field(
        "classic_member_metadata",
        _CLASSIC_MEMBER,
        nullable_since=0,
        tag=0,
        default=MappingProxyType({"session_timeout_ms": 0, "supported_protocols": ()}),
    ),
)

CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = table("consumer_group_target_assignment_metadata", 6, *TARGET_EPOCH)

CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = member_table(
    "consumer_group_target_assignment_member",
    7,
    Field("topic_partitions", TOPIC_PARTITIONS),
)

_ASSIGNED = Array(
    Struct(
        Field("topic_id", UUID),
        Field("partitions", Array(INT32)),
        Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0, default=()),
    )
)

CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = member_table(
    "consumer_group_current_member_assignment",
    8,
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("assigned_partitions", _ASSIGNED),
    Field("partitions_pending_revocation", _ASSIGNED),
)

CONSUMER_GROUP_REGULAR_EXPRESSION = table(
    "consumer_group_regular_expression",
    16,
    Field("topics", Array(STRING)),
    Field("version", INT64),
    Field("timestamp", INT64),
    key=(Field("regular_expression", STRING),),
)
