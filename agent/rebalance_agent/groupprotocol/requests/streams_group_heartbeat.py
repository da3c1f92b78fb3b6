"""StreamsGroupHeartbeat (KIP-1071), request and response, versions 0 and 1.

A request contains what has changed for the member since its last request: its tasks and, when it joins, the topology of
its application. The response contains the tasks that the member should have. ``member_epoch`` has the same special
values as in `consumer_group_heartbeat`.
"""

from __future__ import annotations

from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_request, read_response
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT16, INT32, INT64, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec
from rebalance_agent.groupprotocol.wire.streams_structs import INTERNAL_TOPICS, KEY_VALUES, TASKS, USER_ENDPOINT

__all__ = [
    "ANSWER",
    "REQUEST",
    "STREAMS_HEARTBEAT_KEY",
    "STREAMS_HEARTBEAT_VERSIONS",
    "decode_streams_heartbeat",
    "decode_streams_heartbeat_answer",
]

STREAMS_HEARTBEAT_KEY = 88
"""API key of StreamsGroupHeartbeat."""
STREAMS_HEARTBEAT_VERSIONS = range(2)
"""Versions of the request that can be decoded."""

_INDEXES = Array(INT16)
_COPARTITIONED = Struct(
    Field("source_topics", _INDEXES),
    Field("source_topic_regex", _INDEXES),
    Field("repartition_source_topics", _INDEXES),
)
_SUBTOPOLOGY = Struct(
    Field("subtopology_id", STRING),
    Field("source_topics", Array(STRING)),
    Field("source_topic_regex", Array(STRING)),
    Field("state_changelog_topics", INTERNAL_TOPICS),
    Field("repartition_sink_topics", Array(STRING)),
    Field("repartition_source_topics", INTERNAL_TOPICS),
    Field("copartition_groups", Array(_COPARTITIONED)),
)
_TOPOLOGY = Struct(Field("epoch", INT32), Field("subtopologies", Array(_SUBTOPOLOGY)))
_TASK_OFFSETS = Array(Struct(Field("subtopology_id", STRING), Field("partition", INT32), Field("offset", INT64)))
_PARTITIONS = Array(Struct(Field("topic", STRING), Field("partitions", Array(INT32))))
_TASKS_BY_KIND = tuple(Field(f"{kind}_tasks", TASKS, nullable_since=0) for kind in ("active", "standby", "warmup"))

REQUEST = (
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
    Field("task_offsets", _TASK_OFFSETS, nullable_since=0),
    Field("task_end_offsets", _TASK_OFFSETS, nullable_since=0),
    Field("shutdown_application", INT8),
)
"""The fields of a request."""

ANSWER = (
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
"""The fields of a response."""

_REQUESTS = {version: struct_codec(REQUEST, version, flexible=True) for version in STREAMS_HEARTBEAT_VERSIONS}
_ANSWERS = {version: struct_codec(ANSWER, version, flexible=True) for version in STREAMS_HEARTBEAT_VERSIONS}


def decode_streams_heartbeat(version: int, frame: bytes) -> dict[str, Any]:
    """Decode a request: the whole frame after its length, header included.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    what = f"StreamsGroupHeartbeatRequest v{version}"
    return decode_whole(what, frame, lambda reader: read_request(reader, _REQUESTS[version]))


def decode_streams_heartbeat_answer(version: int, frame: bytes) -> dict[str, Any]:
    """Decode the response to a request of ``version``; the frame as in `decode_streams_heartbeat`.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    what = f"StreamsGroupHeartbeatResponse v{version}"
    return decode_whole(what, frame, lambda reader: read_response(reader, _ANSWERS[version]))
