"""Records of `__consumer_offsets` as rows of events, as Spark's Python workers make them (see `decoding`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, groupby

import pyarrow as pa

from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Event
from rebalance_agent.pipeline.ingest.decoding import batch_of
from rebalance_agent.pipeline.ingest.event_rows import Reason, kept, rejected_id, row_of
from rebalance_agent.tracking.log_replay import LogFacts, PastRecord, UnreadableRecord, replay_log

__all__ = ["LogRows", "retold_rows"]

_ROWS_MAX = 500
"""Rows handed back at once: as many as Spark hands over."""

_INVENTED = 1 << 62
"""Offsets from here on are our own: they say in which order records came of which nobody knows theirs."""


@dataclass(frozen=True, slots=True)
class LogRows:
    """Which groups count, as `NameFilter` takes them: patterns for whole names."""

    allow: str = ".*"
    deny: str = ""


def retold_rows(batches: Iterable[pa.RecordBatch], facts: LogFacts, shown: LogRows) -> Iterator[pa.RecordBatch]:
    """Batches of records, in order within each partition -> rows of `decoding.DECODED`."""
    shows = NameFilter(shown.allow, shown.deny)
    topic: str | None = None
    invented = count(_INVENTED)

    def records() -> Iterator[PastRecord]:
        nonlocal topic
        for batch in batches:
            columns = batch.to_pydict()
            for place, partition in enumerate(columns["partition"]):
                topic = columns["topic"][place]
                number, at_ms = columns["offset"][place], columns["timestamp_ms"][place]
                number = next(invented) if number is None else number
                yield PastRecord(partition, number, at_ms, columns["key"][place], columns["value"][place])

    rows: list[Mapping[str, object]] = []
    for partition, its in groupby(records(), key=lambda record: record.partition):
        for told in replay_log(its, facts, shows):
            rows.append(_row(told, topic, partition))
            if len(rows) >= _ROWS_MAX:
                yield batch_of(rows)
                rows = []
    if rows:
        yield batch_of(rows)


def _row(told: Event | UnreadableRecord, topic: str | None, partition: int) -> dict[str, object]:
    if isinstance(told, UnreadableRecord):
        record, reason = told.record, Reason("offsets_record", told.problem)
        offset = record.offset if record.offset < _INVENTED else None
        place = {"topic": topic, "partition": partition, "offset": offset, "file": None}
        identity = rejected_id(record.value, topic, partition, offset, record.key.hex())
        return {
            **place, "rejected_id": identity, "reason": str(reason), "key": record.key, "value": kept(record.value)
        }  # fmt: skip
    body = json_line(told)
    try:
        row = row_of(told, body.decode())
    except InvalidInputError as error:
        # Its records are read well enough; what they say, such as the time, is impossible.
        reason = Reason("offsets_record", str(error))
        place = {"topic": topic, "partition": partition, "offset": None, "file": None}
        identity = rejected_id(body, topic, partition)
        return {**place, "rejected_id": identity, "reason": str(reason), "key": None, "value": kept(body)}
    return {**row._asdict(), "topic": topic, "partition": partition, "offset": None}
