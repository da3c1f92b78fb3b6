"""One kind of record of ``__consumer_offsets``, and the shapes that several kinds share."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["TOPIC_PARTITIONS", "RecordTable", "group_key", "member_key", "target_metadata", "value"]

TOPIC_PARTITIONS = Array(Struct(Field("topic_id", UUID), Field("partitions", Array(INT32))))
"""Partitions of topics that are named by their ids."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One kind of record: its name in snake case, and what its keys and values look like."""

    kind: str
    key: Message
    value: Message


def group_key(name: str, version: int, *more: Field) -> Message:
    """The key that Kafka calls ``name``: the group's id, and what else tells its records apart."""
    return Message(name, Field("group", STRING), *more, versions=range(version, version + 1))


def member_key(name: str, version: int) -> Message:
    """The key of a record of one member."""
    return group_key(name, version, Field("member_id", STRING))


def value(name: str, *fields: Field) -> Message:
    """A value whose only version is 0, which has tagged fields."""
    return Message(name, *fields, versions=range(1), flexible_since=0)


def target_metadata(name: str) -> Message:
    """The epoch of the assignment that a group's members are to reach, and when it was made (epoch ms, 0: not said)."""
    return value(
        name,
        Field("assignment_epoch", INT32),
        Field("assignment_timestamp", INT64, tag=0, default=0),
    )
