"""The table of one kind of record of ``__consumer_offsets``, and the schemas that several kinds share."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["TOPIC_PARTITIONS", "RecordTable", "group_key", "member_key", "target_metadata", "value"]

TOPIC_PARTITIONS = Array(Struct(Field("topic_id", UUID), Field("partitions", Array(INT32))))
"""Array of partitions by topic id."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One kind of record: its name in snake case, and the schemas of its key and its value."""

    kind: str
    key: Message
    value: Message


def group_key(name: str, version: int, *more: Field) -> Message:
    """Return the schema of the key that Kafka calls ``name``: the group id, then the fields of ``more``."""
    return Message(name, Field("group", STRING), *more, versions=range(version, version + 1))


def member_key(name: str, version: int) -> Message:
    """Return the schema of a key with group id and member id."""
    return group_key(name, version, Field("member_id", STRING))


def value(name: str, *fields: Field, newest: int = 0) -> Message:
    """Return the schema of a value with versions 0 to ``newest``, all of them flexible (KIP-482)."""
    return Message(name, *fields, versions=range(newest + 1), flexible_since=0)


def target_metadata(name: str) -> Message:
    """Return the schema of the target assignment's epoch and timestamp (epoch milliseconds, 0: not set)."""
    return value(
        name,
        Field("assignment_epoch", INT32),
        Field("assignment_timestamp", INT64, tag=0, default=0),
    )
