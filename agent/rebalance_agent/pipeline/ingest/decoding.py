"""Decodes published bytes to rows inside Spark's Python workers.

On a cluster, workers have only this package, Arrow and pandas, so this module must not import packages that only the
driver has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from rebalance_agent.pipeline.ingest.event_rows import EventRow, Reason, event_row, kept, rejected_id
from rebalance_agent.pipeline.ingest.event_times import ReadAt
from rebalance_agent.pipeline.tables.schemas import EVENTS, EVENTS_REJECTED

__all__ = ["DECODED", "LOCATION_COLUMNS", "batch_of", "decode", "rejected_row"]

LOCATION_COLUMNS = ("topic", "partition", "offset", "file")
"""Columns for the location of a record; ``file`` is null for topics, and the other columns are null for files."""

_ADDED_ON_MERGE = ("origin", "ingested_at", "day")
_REJECTED = ("rejected_id", "reason", "key", "value", "file")
DECODED = StructType(
    [StructField(field.name, field.dataType) for field in EVENTS.schema if field.name not in _ADDED_ON_MERGE]
    + [StructField(name, EVENTS_REJECTED.schema[name].dataType) for name in _REJECTED]
)
"""Schema of a decoded record: the columns of an event and of a rejected record; ``reason`` is null for an event."""


def batch_of(rows: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    """Return an Arrow batch with the columns of `DECODED`; columns that a row does not have are null."""
    schema = to_arrow_schema(DECODED)
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in DECODED.names} for row in rows], schema)


def decode(batches: Iterable[pa.RecordBatch], read: ReadAt | None = None) -> Iterator[pa.RecordBatch]:
    """Decode each record into one row of `DECODED`; runs in Spark's Python workers. ``read``: see `event_row`."""
    for batch in batches:
        yield batch_of([_row(record, read) for record in batch.to_pylist()])


def _row(record: Mapping[str, Any], read: ReadAt | None) -> dict[str, object]:
    key, value, location = record["key"], record["value"], {name: record[name] for name in LOCATION_COLUMNS}
    result = event_row(value, read)
    if isinstance(result, EventRow):
        return {**result._asdict(), **location}
    return rejected_row(result, kept(key), value, location, rejected_id(value, *location.values()))


def rejected_row(
    reason: Reason, key: bytes | None, value: bytes | None, location: Mapping[str, object], identity: str
) -> dict[str, object]:
    """Return the columns of a rejected record; ``location`` has those of `LOCATION_COLUMNS` that are known."""
    return {**location, "rejected_id": identity, "reason": str(reason), "key": key, "value": kept(value)}
