"""Converts a record to a JSON-ready dict, the output of ``rebalance-agent decode``, whose form is stable."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.classic_group import member_assignment, member_subscription
from rebalance_agent.groupprotocol.records import UNKNOWN, Record
from rebalance_agent.groupprotocol.streams_user_data import (
    STREAMS_ASSIGNOR,
    decode_process_id,
    decode_streams_assignment,
)
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

__all__ = ["record_json"]


def record_json(record: Record, timestamp_ms: int | None = None) -> dict[str, Any]:
    """Return the record with its fields under Kafka's names; ``timestamp_ms`` is the timestamp of the record itself.

    Bytes are base64 text. ``unknown_tags``, ``tombstone`` and ``unknown`` are present only if they are not zero or
    false.
    """
    out: dict[str, Any] = {"kind": record.kind, "key_version": record.key_version}
    if record.kind != UNKNOWN:
        out |= {"value_version": record.value_version, **_plain(record.key)}
    if timestamp_ms is not None:
        out["record_timestamp"] = timestamp_ms
    if record.tombstone:
        out["tombstone"] = True
    elif record.value is not None:
        out |= _plain(_with_decoded_members(record))
    elif record.kind != UNKNOWN:
        out["unknown"] = True
    if record.unknown_tags:
        out["unknown_tags"] = record.unknown_tags
    return out


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a table describes
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _with_decoded_members(record: Record) -> Mapping[str, Any]:
    """Return the value. In a classic group's record, members' bytes are decoded if they are the consumer protocol."""
    value = record.value or {}
    if record.kind != GROUP_METADATA.kind:
        return value
    protocol_type = value["protocol_type"]
    streams = value["protocol"] == STREAMS_ASSIGNOR
    members = [
        {
            **member,
            "subscription": _decoded(
                member_subscription(protocol_type, member["subscription"]),
                member["subscription"],
                _process if streams else None,
            ),
            "assignment": _decoded(
                member_assignment(protocol_type, member["assignment"]),
                member["assignment"],
                _tasks if streams else None,
            ),
        }
        for member in value["members"]
    ]
    return {**value, "members": members}


def _decoded(
    value: ConsumerSubscription | ConsumerAssignment | None,
    data: bytes,
    read_user_data: Callable[[bytes], dict[str, Any]] | None,
) -> dict[str, Any]:
    if value is None:
        return {"raw": data}
    fields = asdict(value)
    if read_user_data is not None:
        with suppress(DecodeError):
            fields |= read_user_data(value.user_data or b"")
    return fields


def _process(user_data: bytes) -> dict[str, Any]:
    return {"process_id": decode_process_id(user_data)}


def _tasks(user_data: bytes) -> dict[str, Any]:
    tasks = decode_streams_assignment(user_data)
    return {"active_tasks": topic_partitions(tasks.active), "standby_tasks": topic_partitions(tasks.standbys)}
