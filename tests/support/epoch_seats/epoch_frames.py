"""Answers ConsumerGroupHeartbeat and ConsumerGroupDescribe with the model of a group of KIP-848."""

from __future__ import annotations

from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests import consumer_group_describe as describing
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT

NO_GROUP = 69
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def beaten(frame, coordinator, now, error=None):
    """The response to a heartbeat; ``error``: the error code instead of the coordinator's answer."""
    head = read_head(frame)
    asked = CONSUMER_HEARTBEAT.decode_request(head.api_version, frame)
    # With version 0 the coordinator gives the member its id.
    member_id = asked["member_id"] or f"given-{head.correlation_id}"
    topics = (asked["subscribed_topic_names"], asked.get("subscribed_topic_regex"))
    names = member_id, asked["member_epoch"], asked["instance_id"]
    answer = coordinator.heartbeat(now, *names, topics) if error is None else None
    assigned = None if answer is None or answer.partitions is None else sorted(answer.partitions)
    fields = {
        "throttle_time_ms": 0,
        "error_code": error if answer is None else answer.error,
        "error_message": None,
        "member_id": answer.member_id or None if answer is not None else None,
        "member_epoch": 0 if answer is None else answer.epoch,
        "heartbeat_interval_ms": 5_000,
        "assignment": None
        if assigned is None
        else {"topic_partitions": [{"topic_id": TOPIC_ID, "partitions": assigned}]},
    }
    return CONSUMER_HEARTBEAT.encode_answer(head.api_version, head.correlation_id, fields)


def described(frame, coordinator, error=None):
    """The response to a description of the group."""
    head = read_head(frame)
    nothing = {"topic_partitions": []}
    members = [
        {
            "member_id": one.member_id,
            "instance_id": one.instance_id,
            "rack_id": None,
            "member_epoch": one.epoch,
            "client_id": "app",
            "client_host": "/10.0.0.9",
            "subscribed_topic_names": ["t"],
            "subscribed_topic_regex": None,
            "assignment": nothing,
            "target_assignment": nothing,
            "member_type": 0 if one.classic else 1,
        }
        for one in coordinator.described()
    ]
    group = {
        "error_code": error or (0 if coordinator.epoch else NO_GROUP),
        "error_message": None,
        "group_id": "orders",
        "group_state": "Stable" if members else "Empty",
        "group_epoch": coordinator.epoch,
        "assignment_epoch": coordinator.epoch,
        "assignor_name": "uniform",
        "members": members,
        "authorized_operations": 0,
    }
    fields = {"throttle_time_ms": 0, "groups": [group]}
    return describing.CONSUMER_DESCRIBE.encode_answer(head.api_version, head.correlation_id, fields)
