"""The records of ``__consumer_offsets``: one table per kind, found by the version of the record's key.

In this topic the version of a key says what kind of record it is; the value has a version of its own. Names are Kafka's
in snake case, except that the group is ``group`` in every key. To know another kind of record, add its table to the
file of its group type. Checked against the serde of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.groupprotocol.tables.classic_groups import CLASSIC_TABLES, GROUP_METADATA, OFFSET_COMMIT
from rebalance_agent.groupprotocol.tables.consumer_groups import CONSUMER_TABLES
from rebalance_agent.groupprotocol.tables.kind import RecordTable
from rebalance_agent.groupprotocol.tables.share_groups import SHARE_TABLES
from rebalance_agent.groupprotocol.tables.streams_groups import STREAMS_TABLES

__all__ = ["GROUP_METADATA", "OFFSET_COMMIT", "RECORDS", "RecordTable"]

RECORDS: Mapping[int, RecordTable] = {
    version: table
    for table in (*CLASSIC_TABLES, *CONSUMER_TABLES, *SHARE_TABLES, *STREAMS_TABLES)
    for version in table.key.versions
}
"""Version of the key -> what the record is."""
