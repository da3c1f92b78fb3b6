"""The records of ``__consumer_offsets``: one table per kind, found by the version of the record's key.

In this topic the version of a key determines the kind of record; the value has a version of its own. Field names are
Kafka's in snake case, except that the group is ``group`` in every key. For a new kind of record, add its table to the
file of its group type. Checked against the serde of Kafka 4.4.

- ``kind``: one table, and the schemas that several kinds share.
- ``classic_groups``, ``consumer_groups``, ``share_groups``, ``streams_groups``: the tables of each group type.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.groupprotocol.tables import classic_groups, consumer_groups, share_groups, streams_groups
from rebalance_agent.groupprotocol.tables.classic_groups import GROUP_METADATA, OFFSET_COMMIT
from rebalance_agent.groupprotocol.tables.kind import RecordTable

__all__ = ["GROUP_METADATA", "OFFSET_COMMIT", "RECORDS", "RecordTable"]

RECORDS: Mapping[int, RecordTable] = {
    version: table
    for module in (classic_groups, consumer_groups, share_groups, streams_groups)
    for table in vars(module).values()
    if isinstance(table, RecordTable)
    for version in table.key.versions
}
"""Version of the key -> table: every `RecordTable` at the top level of these modules."""
