"""Replays records of `__consumer_offsets` into rows of events; runs in Spark's Python workers (see `decoding`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, groupby

import pyarrow as pa

from rebalance_agent.cluster.name_filters import GroupFilter
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Event
from rebalance_agent.pipeline.ingest.decoding import batch_of, rejected_row
from rebalance_agent.pipeline.ingest.event_rows import Reason, rejected_id, row_of
from rebalance_agent.tracking.log_replay import LogFacts, PastRecord, UnreadableRecord, replay_log

__all__ = ["GroupPatterns", "replayed_rows"]

_ROWS_MAX = 500
"""Maximum number of rows in a returned batch, the same as in Spark's own batches."""

_SUBSTITUTE_OFFSETS = 1 << 62
"""First substitute offset; substitute offsets keep the order of records with unknown offsets."""


@dataclass(frozen=True, slots=True)
class GroupPatterns:
    """Regular expressions, as in `GroupFilter`, that match the whole ids of the groups to replay."""

    allow: str = ".*"
    deny: str = ""


def replayed_rows(
    batches: Iterable[pa.RecordBatch], facts: LogFacts, patterns: GroupPatterns
) -> Iterator[pa.RecordBatch]:
    """Replay batches of records, in log order within each partition, into rows of `decoding.DECODED`."""
    name_filter = GroupFilter(patterns.allow, patterns.deny)
    topic: str | None = None
    substitutes = count(_SUBSTITUTE_OFFSETS)

    def records() -> Iterator[PastRecord]:
        nonlocal topic
        for batch in batches:
            columns = batch.to_pydict()
            for index, partition in enumerate(columns["partition"]):
                topic = columns["topic"][index]
                offset, at_ms = columns["offset"][index], columns["timestamp_ms"][index]
                offset = next(substitutes) if offset is None else offset
                yield PastRecord(partition, offset, at_ms, columns["key"][index], columns["value"][index])

    rows: list[Mapping[str, object]] = []
    for partition, records_of_partition in groupby(records(), key=lambda record: record.partition):
        for item in replay_log(records_of_partition, facts, name_filter):
            rows.append(_row(item, topic, partition))
            if len(rows) >= _ROWS_MAX:
                yield batch_of(rows)
                rows = []
    if rows:
        yield batch_of(rows)


def _row(item: Event | UnreadableRecord, topic: str | None, partition: int) -> dict[str, object]:
    location = {"topic": topic, "partition": partition}
    if isinstance(item, UnreadableRecord):
        record, reason = item.record, Reason("offsets_record", item.problem)
        offset = record.offset if record.offset < _SUBSTITUTE_OFFSETS else None
        identity = rejected_id(record.value, topic, partition, offset, record.key.hex())
        return rejected_row(reason, record.key, record.value, {**location, "offset": offset}, identity)
    try:
        return {**row_of(item)._asdict(), **location}
    except InvalidInputError as error:
        # The records can be decoded, but a value in them, such as the timestamp, is out of bounds.
        reason, body = Reason("offsets_record", str(error)), json_line(item)
        return rejected_row(reason, None, body, location, rejected_id(body, topic, partition))
