"""Tables of classic groups and of committed offsets.

Source: KIP-62 (``rebalance_timeout``), KIP-211 (``current_state_timestamp``, the removal of ``expire_timestamp``),
KIP-320 (``leader_epoch``), KIP-345 (``group_instance_id``), KIP-915 (flexible values), KIP-848 (``topic_id``).
"""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables.kind import RecordTable
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import BYTES, INT32, INT64, STRING, UUID, ZERO_UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["GROUP_METADATA", "OFFSET_COMMIT"]

OFFSET_COMMIT = RecordTable(
    "offset_commit",
    Message(
        "OffsetCommitKey",
        Field("group", STRING),
        Field("topic", STRING),
        Field("partition", INT32),
        versions=range(2),
    ),
    Message(
        "OffsetCommitValue",
        Field("offset", INT64),
        Field("leader_epoch", INT32, since=3, default=-1),
        Field("metadata", STRING),
        Field("commit_timestamp", INT64),
        Field("expire_timestamp", INT64, since=1, until=1, default=-1),
        Field("topic_id", UUID, since=4, tag=0, default=ZERO_UUID),
        versions=range(5),
        flexible_since=4,
    ),
)

GROUP_METADATA = RecordTable(
    "group_metadata",
    Message("GroupMetadataKey", Field("group", STRING), versions=range(2, 3)),
    Message(
        "GroupMetadataValue",
        Field("protocol_type", STRING),
        Field("generation", INT32),
        Field("protocol", STRING, nullable_since=0),
        Field("leader", STRING, nullable_since=0),
        Field("current_state_timestamp", INT64, since=2, default=-1),
        Field(
            "members",
            Array(
                Struct(
                    Field("member_id", STRING),
                    Field("group_instance_id", STRING, since=3, nullable_since=3, default=None),
                    Field("client_id", STRING),
                    Field("client_host", STRING),
                    Field("rebalance_timeout", INT32, since=1, default=-1),
                    Field("session_timeout", INT32),
                    Field("subscription", BYTES),
                    Field("assignment", BYTES),
                )
            ),
        ),
        versions=range(5),
        flexible_since=4,
    ),
)
