"""Records of the offsets topic as rows: impossible values do not stop a run."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pyarrow as pa
import pytest

from rebalance_agent.pipeline.ingest.log_rows import GroupPatterns, replayed_rows
from rebalance_agent.tracking.log_replay import LogFacts
from support.kafka.record_batches import COLUMNS

GOLDEN = Path(__file__).parents[2] / "golden"
HEADER, *ROWS = map(json.loads, (GOLDEN / "captured_topic.ndjson").read_text().splitlines())
FACTS = LogFacts("captured", HEADER["topics"], HEADER["ids"])


def reported(rows):
    batch = pa.RecordBatch.from_pylist(
        [
            {
                "partition": 0,
                "offset": place,
                "timestamp_ms": row["timestamp"],
                "key": base64.b64decode(row["key"]),
                "value": None if row["value"] is None else base64.b64decode(row["value"]),
                "topic": "__consumer_offsets",
            }
            for place, row in enumerate(rows)
        ],
        COLUMNS,
    )
    return [row for out in replayed_rows([batch], FACTS, GroupPatterns()) for row in out.to_pylist()]


@pytest.mark.parametrize("impossible", [0, -1, 2**62])
def test_a_record_with_an_impossible_time_is_rejected_and_others_count(impossible):
    whole = reported(ROWS)
    assert all(row["reason"] is None for row in whole)
    newest = max(row["timestamp"] for row in ROWS)
    (last,) = [place for place, row in enumerate(ROWS) if row["timestamp"] == newest][-1:]
    rows = reported([*ROWS[:last], {**ROWS[last], "timestamp": impossible}, *ROWS[last + 1 :]])
    odd = [row for row in rows if row["reason"] is not None]
    assert odd
    for row in odd:
        assert row["reason"].startswith("offsets_record: ")
        assert "must be between the years 2000 and 2100" in row["reason"]
        assert json.loads(row["value"])["timestamp_ms"] == impossible
    kept = {row["event_id"] for row in rows} & {row["event_id"] for row in whole} - {None}
    assert len(kept) >= len(whole) - len(odd) - 1
