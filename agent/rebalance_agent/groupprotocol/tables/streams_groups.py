"""Tables of streams groups (KIP-1071): members, tasks (partitions of a subtopology) and the topology.

A task is active, standby or warm-up. ``state`` of a current assignment: 1 stable, 2 unrevoked tasks, 3 unreleased
tasks.
"""

from __future__ import annotations

from rebalance_agent.groupprotocol.tables.kind import TARGET_EPOCH, member_table, table
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT32, INT64, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct
from rebalance_agent.groupprotocol.wire.streams_structs import KEY_VALUES, SUBTOPOLOGIES, TASK, TASKS, USER_ENDPOINT

__all__ = [
    "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    "STREAMS_GROUP_MEMBER_METADATA",
    "STREAMS_GROUP_METADATA",
    "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
    "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
    "STREAMS_GROUP_TOPOLOGY",
]

STREAMS_GROUP_METADATA = table(
    "streams_group_metadata",
    17,
    Field("epoch", INT32),
    Field("metadata_hash", INT64),
    Field("validated_topology_epoch", INT32, tag=0, default=-1),
    Field("last_assignment_configs", KEY_VALUES, nullable_since=0, tag=1, default=()),
    # Kafka 4.4 (KIP-1331): topology epochs whose description the broker's plugin has stored, or has refused.
    Field("stored_description_topology_epoch", INT32, tag=2, default=-1),
    Field("failed_description_topology_epoch", INT32, tag=3, default=-1),
)

STREAMS_GROUP_MEMBER_METADATA = member_table(
    "streams_group_member_metadata",
    19,
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("rebalance_timeout_ms", INT32),
    Field("topology_epoch", INT32),
    Field("process_id", STRING),
    Field("user_endpoint", USER_ENDPOINT, nullable_since=0),
    Field("client_tags", KEY_VALUES),
)

STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = table("streams_group_target_assignment_metadata", 20, *TARGET_EPOCH)

_DATED_TASKS = Array(
    Struct(*TASK, Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0, default=())),
)

STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = member_table(
    "streams_group_target_assignment_member",
    21,
    Field("active_tasks", TASKS),
    Field("standby_tasks", TASKS),
    Field("warmup_tasks", TASKS),
)

STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = member_table(
    "streams_group_current_member_assignment",
    22,
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("active_tasks", _DATED_TASKS),
    Field("standby_tasks", _DATED_TASKS),
    Field("warmup_tasks", _DATED_TASKS),
    Field("active_tasks_pending_revocation", _DATED_TASKS),
    Field("standby_tasks_pending_revocation", _DATED_TASKS),
    Field("warmup_tasks_pending_revocation", _DATED_TASKS),
)

STREAMS_GROUP_TOPOLOGY = table(
    "streams_group_topology",
    23,
    Field("epoch", INT32),
    Field("subtopologies", SUBTOPOLOGIES),
)
