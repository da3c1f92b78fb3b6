"""StreamsGroupHeartbeat (KIP-1071), request and response, versions 0 and 1.

A request contains what has changed for the member since its last request: its tasks and, when it joins, the topology of
its application. The response contains the tasks that the member should have. ``member_epoch`` has the same special
values as in `consumer_group_heartbeat`.
"""

from __future__ import annotations

from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT16, INT32, INT64, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct
from rebalance_agent.groupprotocol.wire.streams_structs import (
    KEY_VALUES,
    SUBTOPOLOGIES,
    TASK_OFFSETS,
    TASKS,
    USER_ENDPOINT,
)

__all__ = ["STREAMS_HEARTBEAT"]

_TOPOLOGY = Struct(Field("epoch", INT32), Field("subtopologies", SUBTOPOLOGIES))
_PARTITIONS = Array(Struct(Field("topic", STRING), Field("partitions", Array(INT32))))
_TASKS_BY_KIND = tuple(Field(f"{kind}_tasks", TASKS, nullable_since=0) for kind in ("active", "standby", "warmup"))

_REQUEST = (
    Field("group_id", STRING),
    Field("member_id", STRING),
    Field("member_epoch", INT32),
    Field("endpoint_information_epoch", INT32),
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("rebalance_timeout_ms", INT32),
    Field("topology", _TOPOLOGY, nullable_since=0),
    *_TASKS_BY_KIND,
    Field("process_id", STRING, nullable_since=0),
    Field("user_endpoint", USER_ENDPOINT, nullable_since=0),
    Field("client_tags", KEY_VALUES, nullable_since=0),
    Field("task_offsets", TASK_OFFSETS, nullable_since=0),
    Field("task_end_offsets", TASK_OFFSETS, nullable_since=0),
    Field("shutdown_application", INT8),
)

_ANSWER = (
    Field("throttle_time_ms", INT32),
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
    Field("member_id", STRING),
    Field("member_epoch", INT32),
    Field("heartbeat_interval_ms", INT32),
    Field("acceptable_recovery_lag_legacy", INT32, until=0),
    Field("task_offset_interval_ms", INT32),
    Field("acceptable_recovery_lag", INT64, since=1),
    Field("status", Array(Struct(Field("status_code", INT8), Field("status_detail", STRING))), nullable_since=0),
    *_TASKS_BY_KIND,
    Field("topology_description_required", INT8, since=1),
    Field("endpoint_information_epoch", INT32),
    Field(
        "partitions_by_user_endpoint",
        Array(
            Struct(
                Field("user_endpoint", USER_ENDPOINT),
                Field("active_partitions", _PARTITIONS),
                Field("standby_partitions", _PARTITIONS),
            )
        ),
        nullable_since=0,
    ),
)

STREAMS_HEARTBEAT = FlexibleApi(88, "StreamsGroupHeartbeat", range(2), _REQUEST, _ANSWER)
