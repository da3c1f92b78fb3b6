"""Structures that the records of streams groups and the responses about them have in common (KIP-1071)."""

from __future__ import annotations

from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, INT64, STRING, UINT16, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["INTERNAL_TOPICS", "KEY_VALUES", "SUBTOPOLOGIES", "TASK", "TASKS", "TASK_OFFSETS", "USER_ENDPOINT"]

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

_INDEXES = Array(INT16)
_COPARTITIONED = Struct(
    Field("source_topics", _INDEXES),
    Field("source_topic_regex", _INDEXES),
    Field("repartition_source_topics", _INDEXES),
)
SUBTOPOLOGIES = Array(
    Struct(
        Field("subtopology_id", STRING),
        Field("source_topics", Array(STRING)),
        Field("source_topic_regex", Array(STRING)),
        Field("state_changelog_topics", INTERNAL_TOPICS),
        Field("repartition_sink_topics", Array(STRING)),
        Field("repartition_source_topics", INTERNAL_TOPICS),
        Field("copartition_groups", Array(_COPARTITIONED)),
    )
)
"""The subtopologies of an application, as a member sends them and the coordinator records them."""

TASK = (Field("subtopology_id", STRING), Field("partitions", Array(INT32)))
TASKS = Array(Struct(*TASK))
"""The tasks of each subtopology, by the partitions of its source topics."""

TASK_OFFSETS = Array(Struct(Field("subtopology_id", STRING), Field("partition", INT32), Field("offset", INT64)))
"""How far a member has restored, or may restore, the state of each task."""

USER_ENDPOINT = Struct(Field("host", STRING), Field("port", UINT16))
"""Where the other members of an application reach this one (``application.server``)."""
