"""Structures that the records of streams groups and the responses about them have in common (KIP-1071)."""

from __future__ import annotations

from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, STRING, UINT16, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["INTERNAL_TOPICS", "KEY_VALUES", "TASK", "TASKS", "USER_ENDPOINT"]

KEY_VALUES = Array(Struct(Field("key", STRING), Field("value", STRING)))
"""Client tags, or configurations of a topic or an assignor."""

INTERNAL_TOPICS = Array(
    Struct(
        Field("name", STRING),
        Field("partitions", INT32),
        Field("replication_factor", INT16),
        Field("topic_configs", KEY_VALUES),
    )
)
"""Changelog or repartition topics of a subtopology."""

TASK = (Field("subtopology_id", STRING), Field("partitions", Array(INT32)))
TASKS = Array(Struct(*TASK))
"""The tasks of each subtopology, by the partitions of its source topics."""

USER_ENDPOINT = Struct(Field("host", STRING), Field("port", UINT16))
"""Where the other members of an application reach this one (``application.server``)."""
