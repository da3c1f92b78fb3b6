"""A member's heartbeat and the coordinator's response, with a value in nearly every field."""

from __future__ import annotations

from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID

__all__ = ["CONSUMER_ANSWER", "CONSUMER_REQUEST", "SHARE_ANSWER", "SHARE_REQUEST", "STREAMS_ANSWER", "STREAMS_REQUEST"]

CONSUMER_REQUEST = {
    "group_id": "orders",
    "member_id": "m",
    "member_epoch": 3,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout_ms": 1,
    "subscribed_topic_names": ["t"],
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": [{"topic_id": ZERO_UUID, "partitions": (1, 2)}],
}
CONSUMER_ANSWER = {
    "throttle_time_ms": 0,
    "error_code": 0,
    "error_message": None,
    "member_id": "m",
    "member_epoch": 4,
    "heartbeat_interval_ms": 1,
    "assignment": {"topic_partitions": [{"topic_id": ZERO_UUID, "partitions": (1,)}]},
}
SHARE_REQUEST = {
    "group_id": "orders",
    "member_id": "m",
    "member_epoch": 3,
    "rack_id": "r",
    "subscribed_topic_names": ["t"],
}
SHARE_ANSWER = CONSUMER_ANSWER
TASKS = [{"subtopology_id": "0", "partitions": (0, 1)}]
CHANGELOG = {"name": "store", "partitions": 0, "replication_factor": 1, "topic_configs": [{"key": "k", "value": "v"}]}
STREAMS_REQUEST = {
    "group_id": "orders",
    "member_id": "m",
    "member_epoch": 0,
    "endpoint_information_epoch": 1,
    "instance_id": None,
    "rack_id": "r",
    "rebalance_timeout_ms": 1_500,
    "topology": {
        "epoch": 2,
        "subtopologies": [
            {
                "subtopology_id": "0",
                "source_topics": ["t"],
                "source_topic_regex": [],
                "state_changelog_topics": [CHANGELOG],
                "repartition_sink_topics": ["sunk"],
                "repartition_source_topics": [{**CHANGELOG, "name": "repartitioned"}],
                "copartition_groups": [
                    {"source_topics": [0], "source_topic_regex": [], "repartition_source_topics": [0]}
                ],
            }
        ],
    },
    "active_tasks": TASKS,
    "standby_tasks": [],
    "warmup_tasks": None,
    "process_id": "p",
    "user_endpoint": {"host": "h", "port": 65_535},
    "client_tags": [{"key": "zone", "value": "a"}],
    "task_offsets": [{"subtopology_id": "0", "partition": 1, "offset": 2**40}],
    "task_end_offsets": None,
    "shutdown_application": 0,
}
STREAMS_ANSWER = {
    "throttle_time_ms": 0,
    "error_code": 0,
    "error_message": None,
    "member_id": "m",
    "member_epoch": 4,
    "heartbeat_interval_ms": 1,
    "acceptable_recovery_lag_legacy": 3,
    "task_offset_interval_ms": 2,
    "acceptable_recovery_lag": 2**40,
    "status": [{"status_code": 1, "status_detail": "missing topics"}],
    "active_tasks": TASKS,
    "standby_tasks": None,
    "warmup_tasks": [],
    "topology_description_required": 1,
    "endpoint_information_epoch": 5,
    "partitions_by_user_endpoint": [
        {
            "user_endpoint": {"host": "h", "port": 65_535},
            "active_partitions": [{"topic": "t", "partitions": (0, 1)}],
            "standby_partitions": [],
        }
    ],
}
