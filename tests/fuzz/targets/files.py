"""Files that commands read: dumps of ``__consumer_offsets`` with its topics, and the inputs of `verify`."""

from __future__ import annotations

import base64
import contextlib
import functools
import gzip
import itertools
import json
from pathlib import Path

import pyarrow as pa

from fuzz.target import KB, MB, Target, read_or_refused
from fuzz.targets.commands import record_lines
from fuzz.targets.configured import folder
from fuzz.targets.posted import posts
from rebalance_agent.cli.inputs.raw_records import raw_record
from rebalance_agent.cli.inputs.verify_files import events_in, records_in
from rebalance_agent.cli.pipeline.backfill import facts_in
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from rebalance_agent.pipeline.ingest.log_rows import GroupPatterns, replayed_rows
from support.kafka.captured import CAPTURED_TOPIC, EVERY_KIND
from support.kafka.record_batches import COLUMNS

__all__ = ["TARGETS"]

RECORDS_MAX = 24
"""Maximum number of records in one backfill."""

INT32 = range(-(2**31), 2**31)


def take_backfill(data):
    """The file of ``--topics`` in one line, then lines of records: rows as `ingest` makes them from the same events."""
    first, *lines = data.split(b"\n")
    facts = read_or_refused(lambda text: facts_in(text, "fuzzed"), first, InvalidInputError)
    if facts is None:
        return
    records = []
    for line in lines[:RECORDS_MAX]:
        with contextlib.suppress(InvalidInputError):
            records.append(_columns(raw_record(line)))
    records.sort(key=lambda each: (each["partition"], each["offset"] or 0, each["timestamp_ms"]))
    batch = pa.RecordBatch.from_pylist(records, COLUMNS)
    for row in itertools.chain.from_iterable(
        each.to_pylist() for each in replayed_rows([batch], facts, GroupPatterns())
    ):
        if row["reason"] is None:
            read = event_row(row["body"].encode())
            assert isinstance(read, EventRow), read
            assert read.event_id == row["event_id"]


def _columns(raw):
    """The columns that Spark reads from such a line."""
    partition = raw.partition or 0
    partition = partition if partition in INT32 else 0  # other values than int are null, and null sorts first
    at_ms = raw.timestamp or 0
    return {"partition": partition, "offset": raw.offset, "timestamp_ms": at_ms, "key": raw.key, "value": raw.value}


def take_lines(data):
    """The first byte chooses the reader of the file, and whether it is compressed."""
    form = data[0] if data else 0
    path = Path(folder(), "lines.gz" if form % 2 else "lines")
    path.write_bytes(data[1:])
    read = (records_in, functools.partial(events_in, "--events"))[form // 2 % 2]
    read_or_refused(lambda _: sum(1 for _ in read(str(path))), data, InvalidInputError)


def backfills():
    """The topics of each capture, and some records from all parts of it."""
    made = []
    for capture in (CAPTURED_TOPIC, EVERY_KIND):
        facts = json.dumps({"topics": capture.topics.partitions, "ids": capture.topics.ids}).encode()
        for begin in range(0, len(capture.records), max(12, len(capture.records) // 12)):
            lines = [_line(each) for each in capture.records[begin : begin + 12]]
            made.append(b"\n".join([facts, *lines]))
    return made


def _line(record):
    key, value = (None if each is None else base64.b64encode(each).decode() for each in (record.key(), record.value()))
    place = {"partition": 0, "offset": record.offset(), "timestamp": record.timestamp_ms}
    return json.dumps({"key": key, "value": value, **place}).encode()


def files():
    made = []
    for reader, text in enumerate([b"\n".join(record_lines()), b"\n\n".join(posts())]):
        made += [bytes([2 * reader]) + text, bytes([2 * reader + 1]) + gzip.compress(text, mtime=0)]
    return made


WORDS = (b"topics", b"ids", b"timestamp", b"offset", b"partition", b"null")

TARGETS = (
    Target("backfill", take_backfill, backfills, WORDS, 2.0, 16 * MB, 4_000, 16 * KB, text=True),
    # A compressed input may be a thousand times as large unpacked, in a single line.
    Target("line-file", take_lines, files, WORDS, 2.0, 8 * MB, 8_000, 16 * KB),
)
