"""Decoding in Spark's workers: one row per input row, and unreadable records are kept for later."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from rebalance_agent.model.events import SCHEMA_VERSION
from rebalance_agent.pipeline.ingest import event_rows
from rebalance_agent.pipeline.ingest.decoding import LOCATION_COLUMNS, decode
from rebalance_agent.pipeline.ingest.event_rows import KEPT_BYTES_MAX

LINE = (Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson").read_bytes().splitlines()[0]
RECORDS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("file", pa.string()),
    ]
)


def rows(*values):
    place = dict(zip(LOCATION_COLUMNS, ("t", 3, 7, None), strict=True))
    batch = pa.RecordBatch.from_pylist([{"key": b"k", "value": value, **place} for value in values], RECORDS)
    return [row for out in decode([batch]) for row in out.to_pylist()]


def test_each_record_is_a_row_of_one_of_the_tables():
    event, odd, empty = rows(LINE, b"{", None)
    assert (event["body"], event["reason"], event["offset"]) == (LINE.decode(), None, 7)
    assert (odd["event_id"], odd["key"], odd["value"], odd["partition"]) == (None, b"k", b"{", 3)
    assert odd["reason"].startswith("malformed: ")
    assert empty["value"] is None


@pytest.mark.parametrize("change", [{"schema_version": SCHEMA_VERSION + 1}, {"kind": "newer"}, {"members": 7}])
def test_rejected_records_are_kept_completely_for_later_releases(change):
    large = json.dumps(json.loads(LINE) | change | {"more": "x" * KEPT_BYTES_MAX}).encode()
    (row,) = rows(large)
    assert row["reason"]
    assert row["value"] == large


def test_the_beginning_of_too_large_records_is_kept(monkeypatch):
    monkeypatch.setattr(event_rows, "EVENT_BYTES_MAX", len(LINE) - 1)
    monkeypatch.setattr(event_rows, "KEPT_BYTES_MAX", 10)
    (row,) = rows(LINE)
    assert row["reason"].startswith("too_large: ")
    assert row["value"] == LINE[:10]
