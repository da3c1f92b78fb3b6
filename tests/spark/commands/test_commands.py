"""Stages on a few events of a real topic: output, exit code, and the files that they leave unchanged."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

GOLDEN = Path(__file__).parents[2] / "golden"
LINES = (GOLDEN / "captured_topic_events.ndjson").read_bytes().splitlines()
CONSECUTIVE = "generations are consecutive except aborted ones"
DAY = "day is the date of the timestamp"


@pytest.fixture
def events(tmp_path):
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "events.ndjson").write_bytes(b"\n".join((*LINES, b"no event")))
    return folder


def test_a_dry_run_before_the_first_one_counts_and_writes_nothing(run, events, tmp_path, contents):
    records = tmp_path / "records"
    records.mkdir()
    _, *rows = (GOLDEN / "captured_topic.ndjson").read_bytes().splitlines(keepends=True)
    (records / "records.ndjson").write_bytes(b"".join(rows))
    flags, before = ("--events", events, "--dry-run"), contents(tmp_path)
    read = {"events": len(LINES), "rejected": 1}
    assert run(tmp_path, "run", *flags, "--report", tmp_path / "report.html")[:2] == (0, read)
    assert run(tmp_path, "ingest", *flags)[1].items() >= read.items()
    _, backfilled, said = run(tmp_path, "backfill", "--records", records, "--dry-run")
    assert backfilled["records"] == len(rows)
    assert f"backfill: partition 0: {len(rows)} records, 20" in said  # and since when
    assert contents(tmp_path) == before


def test_what_breaks_expectations_is_reported_and_a_missing_generation_ends_a_strict_run(run, events, tmp_path, spark):
    eager, other = (
        [each["event_id"] for each in map(json.loads, LINES) if (each["kind"], each["group"]) == ("generation", group)]
        for group in ("eager", "cooperative")
    )
    assert run(tmp_path, "ingest", "--events", events)[0] == 0
    tables = DeltaTables(spark, str(tmp_path / "tables"))
    missing = tables.read("events").where(F.col("event_id") != eager[1])
    wrong = missing.withColumn("day", F.date_add("day", (F.col("event_id") == other[0]).cast("int")))
    tables.overwrite("events", spark.createDataFrame(wrong.collect(), wrong.schema))
    code, summary, said = run(tmp_path, "aggregate", "--strict")
    assert (code, summary["broken"]) == (1, 2)
    assert f"warning: generations: {CONSECUTIVE}: not true for 1 of " in said
    assert f"error: events: {DAY}: not true for 1 of {len(LINES) - 1}, for example" in said
    rows = {row["expectation"]: row for row in tables.read("expectations").where("failed > 0").collect()}
    assert {name: (row["table"], row["severity"], row["failed"]) for name, row in rows.items()} == {
        CONSECUTIVE: ("generations", "warning", 1),
        DAY: ("events", "error", 1),
    }
    assert rows[DAY]["checked"] == len(LINES) - 1


def test_stages_that_keep_going_leave_it_to_the_report_to_fail_until_the_rows_are_correct(run, events, tmp_path, spark):
    page, week, keep = tmp_path / "report.html", tmp_path / "weekly", "--keep-going"
    assert run(tmp_path, "ingest", "--events", events)[0] == 0
    tables = DeltaTables(spark, str(tmp_path / "tables"))
    stored = spark.createDataFrame(tables.read("events").collect(), tables.read("events").schema)
    newest = stored.agg(F.max(F.date_format("timestamp", "yyyy-MM-dd"))).first()[0]
    one = F.col("event_id") == json.loads(LINES[0])["event_id"]
    tables.overwrite("events", stored.withColumn("day", F.when(one, F.date_add("day", 1)).otherwise(F.col("day"))))
    code, summary, said = run(tmp_path, "aggregate", keep)
    assert (code, summary["broken"]) == (0, 1)
    assert f"error: events: {DAY}: not true for 1 of {len(LINES)}" in said
    assert run(tmp_path, "whatif", keep)[0] == 0  # its own tables are correct, and their check is newer

    code, summary, said = run(tmp_path, "report", "--out", page)
    assert (code, summary["broken"], page.exists()) == (1, 1, True)
    assert f"error: events: {DAY}: not true for 1 of {len(LINES)}" in said
    assert run(tmp_path, "report", "--out", page, keep)[0] == 0
    weekly = ("--weekly", "--until", str(dt.date.fromisoformat(newest) + dt.timedelta(7)), "--out", week)
    assert run(tmp_path, "report", *weekly)[0] == 1
    assert (week / "weekly.html").exists()
    assert run(tmp_path, "report", *weekly, keep)[0] == 0

    tables.overwrite("events", stored)
    assert run(tmp_path, "aggregate")[0] == 0
    code, summary, said = run(tmp_path, "report", "--out", page)
    assert (code, summary["broken"], "error:" in said) == (0, 0, False)


def test_what_is_missing_is_said_with_exit_code_2(run, tmp_path):
    code, _, said = run(tmp_path, "run", "--events", tmp_path / "nowhere")
    assert code == 2
    assert "--events: there is no" in said
