"""Decodes a classic group's record to a `GroupSnapshot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from sys import intern
from typing import Any, TypeVar

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription
from rebalance_agent.groupprotocol.records import Record
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.groupprotocol.wire.memo import remembered
from rebalance_agent.model.group import GroupSnapshot, Member

__all__ = ["CONSUMER_PROTOCOL_TYPE", "classic_group", "member_assignment", "member_subscription"]

CONSUMER_PROTOCOL_TYPE = "consumer"
"""Protocol type of groups whose members use the consumer protocol; Kafka Connect and others have their own formats."""

REMEMBERED_MAX = 4_096
"""Maximum number of decoded subscriptions, and also of decoded assignments, that are cached by their bytes.

Members that own no partitions send equal subscriptions (newer clients add the generation), and most members of the next
generation keep their assignment.
"""

TIMEOUTS_MAX = 256
"""Maximum number of timeout values that share one object each: nearly all members have their client's defaults."""

_T = TypeVar("_T")


def classic_group(record: Record) -> GroupSnapshot | None:
    """Return the group in a ``group_metadata`` record; None for tombstones, unknown value versions and other kinds."""
    value = record.value
    if record.kind != GROUP_METADATA.kind or value is None:
        return None
    protocol_type = value["protocol_type"]
    return GroupSnapshot(
        # Names recur in each generation, and several generations of a group are kept: they share one string object.
        group=intern(record.group),
        protocol_type=protocol_type,
        generation=value["generation"],
        protocol=value["protocol"],
        leader=None if value["leader"] is None else intern(value["leader"]),
        current_state_timestamp_ms=value.get("current_state_timestamp", -1),
        members=tuple(_member(protocol_type, fields) for fields in value["members"]),
        size_bytes=record.size_bytes,
    )


def _remembered(read: Callable[[bytes], _T]) -> Callable[[str, bytes], _T | None]:
    read_remembered = remembered(read, REMEMBERED_MAX)

    def read_or_none(protocol_type: str, data: bytes) -> _T | None:
        if protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        try:
            return read_remembered(data)
        except DecodeError:
            return None

    return read_or_none


member_subscription = _remembered(decode_subscription)
"""Decode a member's ``subscription``; None if the bytes do not decode or belong to another protocol type."""

member_assignment = _remembered(decode_assignment)
"""Decode a member's ``assignment``; None if the bytes do not decode or belong to another protocol type."""


@lru_cache(TIMEOUTS_MAX)
def _once(timeout_ms: int) -> int:
    return timeout_ms


def _member(protocol_type: str, fields: Mapping[str, Any]) -> Member:
    return Member(
        member_id=intern(fields["member_id"]),
        instance_id=fields.get("group_instance_id"),
        client_id=intern(fields["client_id"]),
        client_host=intern(fields["client_host"]),
        rebalance_timeout_ms=_once(fields.get("rebalance_timeout", -1)),
        session_timeout_ms=_once(fields["session_timeout"]),
        subscription=member_subscription(protocol_type, fields["subscription"]),
        assignment=member_assignment(protocol_type, fields["assignment"]),
    )
