"""A classic group's record as the value that the tracker works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer import decode_assignment, decode_subscription
from rebalance_agent.groupprotocol.records import Record
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.model.group import ClassicGroup, ClassicMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = ["CONSUMER_PROTOCOL_TYPE", "classic_group", "member_assignment", "member_subscription"]

CONSUMER_PROTOCOL_TYPE = "consumer"
"""Protocol type of groups whose members speak the consumer protocol; Connect and others put their own bytes there."""


def classic_group(record: Record) -> ClassicGroup | None:
    """The group in a ``group_metadata`` record; None for a tombstone, an unknown value version and any other kind."""
    value = record.value
    if record.kind != GROUP_METADATA.kind or value is None:
        return None
    protocol_type = value["protocol_type"]
    return ClassicGroup(
        group=record.group,
        protocol_type=protocol_type,
        generation=value["generation"],
        protocol=value["protocol"],
        leader=value["leader"],
        current_state_timestamp_ms=value.get("current_state_timestamp", -1),
        members=tuple(_member(protocol_type, fields) for fields in value["members"]),
        size_bytes=record.size_bytes,
    )


def member_subscription(protocol_type: str, data: bytes) -> ConsumerSubscription | None:
    """What a member's ``subscription`` bytes say; None where they do not parse or are of another protocol type."""
    try:
        return decode_subscription(data) if protocol_type == CONSUMER_PROTOCOL_TYPE else None
    except DecodeError:
        return None


def member_assignment(protocol_type: str, data: bytes) -> ConsumerAssignment | None:
    """What a member's ``assignment`` bytes say; None where they do not parse or are of another protocol type."""
    try:
        return decode_assignment(data) if protocol_type == CONSUMER_PROTOCOL_TYPE else None
    except DecodeError:
        return None


def _member(protocol_type: str, fields: Mapping[str, Any]) -> ClassicMember:
    return ClassicMember(
        member_id=fields["member_id"],
        instance_id=fields.get("group_instance_id"),
        client_id=fields["client_id"],
        client_host=fields["client_host"],
        rebalance_timeout_ms=fields.get("rebalance_timeout", -1),
        session_timeout_ms=fields["session_timeout"],
        subscription=member_subscription(protocol_type, fields["subscription"]),
        assignment=member_assignment(protocol_type, fields["assignment"]),
    )
