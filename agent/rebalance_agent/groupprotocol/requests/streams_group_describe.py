"""StreamsGroupDescribe (KIP-1071), version 0: the members of streams groups, their tasks, and the topology.

Version 1 adds a description of the topology for people (KIP-1331), which is not requested.
"""

from __future__ import annotations

from rebalance_agent.groupprotocol.requests.describe_api import GROUP_HEAD, DescribeApi
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT32, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct
from rebalance_agent.groupprotocol.wire.streams_structs import (
    INTERNAL_TOPICS,
    KEY_VALUES,
    TASK_OFFSETS,
    TASKS,
    USER_ENDPOINT,
)

__all__ = ["STREAMS_DESCRIBE"]

_SUBTOPOLOGY = Struct(
    Field("subtopology_id", STRING),
    Field("source_topics", Array(STRING)),
    Field("repartition_sink_topics", Array(STRING)),
    Field("state_changelog_topics", INTERNAL_TOPICS),
    Field("repartition_source_topics", INTERNAL_TOPICS),
)

_ASSIGNMENT = Struct(Field("active_tasks", TASKS), Field("standby_tasks", TASKS), Field("warmup_tasks", TASKS))

_MEMBER = Struct(
    Field("member_id", STRING),
    Field("member_epoch", INT32),
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("topology_epoch", INT32),
    Field("process_id", STRING),
    Field("user_endpoint", USER_ENDPOINT, nullable_since=0),
    Field("client_tags", KEY_VALUES),
    Field("task_offsets", TASK_OFFSETS),
    Field("task_end_offsets", TASK_OFFSETS),
    Field("assignment", _ASSIGNMENT),
    Field("target_assignment", _ASSIGNMENT),
    Field("is_classic", INT8),
)

_GROUP = (
    *GROUP_HEAD,
    Field(
        "topology",
        Struct(Field("epoch", INT32), Field("subtopologies", Array(_SUBTOPOLOGY), nullable_since=0)),
        nullable_since=0,
    ),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32),
)

STREAMS_DESCRIBE = DescribeApi(89, "StreamsGroupDescribe", _GROUP, range(1))
