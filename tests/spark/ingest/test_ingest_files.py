"""Files of events become rows, each once; other lines are stored beside them with the reason."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.pipeline.ingest.event_rows import EVENT_BYTES_MAX, KEPT_BYTES_MAX
from rebalance_agent.pipeline.ingest.ingest_events import Ingested, events_of_files, ingest_batch, retry_rejected
from rebalance_agent.pipeline.tables.schemas import EVENTS, EVENTS_REJECTED

CLOCK = FakeClock(1_796_000_000_000)  # after the events of the files
GOLDEN = Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson"
LINES = GOLDEN.read_bytes().splitlines()
FIRST = event_from_json(json_object(LINES[0]))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "events"
    folder.mkdir()
    return folder


def ingest(tables, folder, origin="files"):
    return ingest_batch(tables, events_of_files(tables.spark, str(folder)), origin, CLOCK)


def rows(tables, name="events"):
    return [row.asDict() for row in tables.read(name).collect()]


def test_every_event_is_one_row_for_any_number_of_reads(tables, folder):
    (folder / "events-1.ndjson").write_bytes(b"\n".join(LINES) + b"\n\n")
    (folder / "events-2.ndjson.gz").write_bytes(gzip.compress(b"\n".join(LINES[:5])))
    (folder / "notes.txt").write_bytes(b"not looked at")
    assert ingest(tables, folder) == Ingested(len(LINES) + 5, 0)
    ingest(tables, folder)
    found = {row["event_id"]: row for row in rows(tables)}
    assert len(found) == tables.read("events").count() == len(LINES)
    for line in LINES:
        data = json.loads(line)
        row = found[data["event_id"]]
        assert row["body"].encode() == line
        assert (row["kind"], row["group"], row["origin"]) == (data["kind"], data["group"], "files")
        assert row["generation"] == data.get("generation")
    assert tables.read("events_rejected").count() == 0


def test_a_table_has_the_documented_schema(tables, folder):
    (folder / "events.ndjson").write_bytes(LINES[0])
    ingest(tables, folder)
    stored = tables.spark.read.format("delta").load(tables.path("events")).schema
    assert [(each.name, each.dataType, each.nullable) for each in stored] == [
        (each.name, each.dataType, each.nullable) for each in EVENTS.schema
    ]


REPORTED = {
    "in order": [("ingest", 0), ("ingest", 1), ("ingest", 2)],
    "late": [("ingest", 2), ("ingest", 1), ("ingest", 0)],
    "twice": [("ingest", 1), ("ingest", 2), ("ingest", 2)],
    "the past is replaced": [("backfill", 9), ("ingest", 0), ("backfill", 9)],
    "the past reported twice": [("backfill", 0), ("backfill", 0), ("backfill", 0)],
}
"""Rows of one event in order: origin and revision."""
STAYS = {"in order": 2, "late": 0, "twice": 1, "the past is replaced": 1, "the past reported twice": 0}


def test_better_evidence_replaces_a_row_and_worse_or_equal_evidence_does_not(tables, folder):
    for step in range(3):
        for origin in ("ingest", "backfill"):
            lines = [
                json_line(replace(FIRST, event_id=name, revision=reported[step][1], moved=step))
                for name, reported in REPORTED.items()
                if reported[step][0] == origin
            ]
            (folder / "events.ndjson").write_bytes(b"\n".join(lines))
            if lines:
                ingest(tables, folder, origin)
    found = {
        row["event_id"]: (row["origin"], row["revision"], json.loads(row["body"])["moved"]) for row in rows(tables)
    }
    assert found == {name: (*REPORTED[name][step], step) for name, step in STAYS.items()}


def test_the_best_of_several_revisions_in_one_read_is_kept(tables, folder):
    lines = [json_line(replace(FIRST, revision=revision)) for revision in (0, 2, 1)]
    (folder / "events.ndjson").write_bytes(b"\n".join(lines))
    ingest(tables, folder)
    assert [row["revision"] for row in rows(tables)] == [2]


def test_a_rollout_that_ended_on_the_next_day_is_still_one_row(tables, folder):
    rollout = {
        "kind": "rollout", "schema_version": 1, "event_id": "a" * 32, "cluster_id": "c", "group": "g",
        "source": "records", "group_type": "classic", "started_ms": 1795219199000, "timestamp_ms": 1795219199000,
        "first_generation": 1, "last_generation": 2, "closed": False, "rebalances": 1, "members": 2,
        "members_replaced": 1, "stalled_partition_seconds": 1.0,
    }  # fmt: skip
    for more in ({}, {"timestamp_ms": 1795219201000, "closed": True, "revision": 1}):
        (folder / "events.ndjson").write_text(json.dumps(rollout | more))
        ingest(tables, folder)
    assert [(row["revision"], str(row["day"])) for row in rows(tables)] == [(1, "2026-11-21")]


MALFORMED = {
    b"no JSON": "malformed: is not JSON",
    b'{"kind": "generation"': "malformed: is not JSON",
    b"\xff\xfe{}": "malformed: is not UTF-8",
    b"[]": "malformed: an event must be a JSON object",
    b'{"kind":"generation","schema_version":1}': "malformed: ",
    LINES[0].replace(b'"schema_version":1', b'"schema_version":2'): "newer_schema: this release reads schema ",
    LINES[0].replace(b'"kind":"generation"', b'"kind":"quota"'): "unknown_kind: this release reads ",
    LINES[0].replace(b'"timestamp_ms":', b'"timestamp_ms":9'): "malformed: timestamp_ms",
}


def test_other_records_are_kept_with_their_bytes_and_the_reason_and_stop_nothing(tables, folder):
    (folder / "events.ndjson").write_bytes(b"\n".join((*MALFORMED, *LINES)))
    assert ingest(tables, folder) == Ingested(len(LINES), len(MALFORMED))
    ingest(tables, folder)
    found = {bytes(row["value"]): row["reason"] for row in rows(tables, "events_rejected")}
    assert found.keys() == MALFORMED.keys()
    assert tables.read("events_rejected").count() == len(MALFORMED)
    for value, reason in MALFORMED.items():
        assert found[value].startswith(reason)


def test_a_line_of_any_length_is_set_aside_with_the_reason(tables, folder):
    long = b"x" * (EVENT_BYTES_MAX + 1)
    with gzip.open(folder / "events-1.ndjson.gz", "wb", 1) as file:
        for part in (LINES[0] + b"\n", *[long] * 64, b"\n", LINES[1]):
            file.write(part)
    assert ingest(tables, folder) == Ingested(2, 1)
    (row,) = rows(tables, "events_rejected")
    assert row["reason"] == f"too_large: more than {EVENT_BYTES_MAX} bytes, of which {KEPT_BYTES_MAX} are kept"
    assert bytes(row["value"]) == long[:KEPT_BYTES_MAX]
    assert row["file"].endswith("/events-1.ndjson.gz")


def test_too_new_records_are_read_by_the_release_that_supports_them(tables, folder, monkeypatch):
    newer = LINES[0].replace(b'"schema_version":1', b'"schema_version":2')
    (folder / "events.ndjson").write_bytes(b"\n".join((newer, b"no JSON")))
    assert ingest(tables, folder) == Ingested(0, 2)
    assert retry_rejected(tables, CLOCK) == Ingested(0, 0), "this release has read them once"
    older = tables.read("events_rejected").selectExpr(
        "rejected_id", "replace(reason, 'up to 1', 'up to 0') AS reason", "ingested_at", "key", "value",
        "topic", "partition", "offset", "file",
    )  # fmt: skip
    tables.overwrite("events_rejected", tables.spark.createDataFrame(older.collect(), EVENTS_REJECTED.schema))
    assert retry_rejected(tables, CLOCK) == Ingested(0, 1)
    assert retry_rejected(tables, CLOCK) == Ingested(0, 0), "it has read an older release's records once"
    # As after an upgrade: the reasons are those of an older release, and the records now have a known version.
    rejected = tables.read("events_rejected")
    known = rejected.selectExpr(
        "rejected_id", "replace(reason, 'up to 1', 'up to 0') AS reason", "ingested_at", "key",
        "encode(replace(decode(value, 'UTF-8'), '\"schema_version\":2', '\"schema_version\":1'), 'UTF-8') AS value",
        "topic", "partition", "offset", "file",
    )  # fmt: skip
    known = tables.spark.createDataFrame(known.collect(), rejected.schema)
    tables.overwrite("events_rejected", known)
    assert retry_rejected(tables, CLOCK) == Ingested(1, 0)
    assert [row["event_id"] for row in rows(tables)] == [FIRST.event_id]
    assert [row["reason"] for row in rows(tables, "events_rejected")] == ["malformed: is not JSON in UTF-8"]


def test_missing_files_are_an_error(tables, folder):
    for wanted in (folder, folder / "nowhere"):
        with pytest.raises(InvalidInputError, match="has no event files"):
            events_of_files(tables.spark, str(wanted))
