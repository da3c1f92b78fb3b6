"""The table of one kind of record of ``__consumer_offsets``, and the schemas that several kinds share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["TARGET_EPOCH", "TOPIC_PARTITIONS", "RecordTable", "member_table", "table"]

TOPIC_PARTITIONS = Array(Struct(Field("topic_id", UUID), Field("partitions", Array(INT32))))
"""Array of partitions by topic id."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One kind of record: its name in snake case, and the schemas of its key and its value."""

    kind: str
    key: Message
    value: Message


TARGET_EPOCH = (Field("assignment_epoch", INT32), Field("assignment_timestamp", INT64, tag=0, default=0))
"""The target assignment's epoch and timestamp (epoch milliseconds, 0: not set)."""


def table(kind: str, key_version: int, *value: Field, key: Iterable[Field] = (), newest: int = 0) -> RecordTable:
    """Return the table of ``kind``: keys of the group id and ``key``, values in versions 0 to ``newest``.

    All values are flexible (KIP-482). Kafka's names follow from the kind: the key of ``share_group_metadata`` is
    ``ShareGroupMetadataKey``.
    """
    name = kind.title().replace("_", "")
    return RecordTable(
        kind,
        Message(f"{name}Key", Field("group", STRING), *key, versions=range(key_version, key_version + 1)),
        Message(f"{name}Value", *value, versions=range(newest + 1), flexible_since=0),
    )


member_table = partial(table, key=(Field("member_id", STRING),))
"""`table` with keys of group id and member id."""
