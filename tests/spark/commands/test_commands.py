"""Every stage as a user runs it: output, exit code, and the files that it leaves unchanged."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.cli.main import main
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

GOLDEN = Path(__file__).parents[2] / "golden"
LINES = (GOLDEN / "captured_topic_events.ndjson").read_bytes().splitlines()
CONSECUTIVE = "generations are consecutive except aborted ones"


@pytest.fixture(autouse=True)
def shared(spark, monkeypatch):
    """The tests' session in place of one of each command's own."""
    monkeypatch.setattr("rebalance_agent.cli.inputs.pipeline_flags.open_session", lambda *_: nullcontext(spark))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "events.ndjson").write_bytes(b"\n".join((*LINES, b"no event")))
    return tmp_path


@pytest.fixture
def pipeline(folder, capsys):
    """Exit code, the last line and what was said of a stage."""

    def run(stage, *arguments):
        code = main(["pipeline", stage, "--tables", str(folder / "tables"), *map(str, arguments)])
        reported = capsys.readouterr()
        return code, json.loads(reported.out.splitlines()[-1]) if reported.out else None, reported.err

    return run


def whole_folder(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_dry_run_counts_and_writes_nothing(pipeline, folder):
    records = folder / "records"
    records.mkdir()
    _, *rows = (GOLDEN / "captured_topic.ndjson").read_bytes().splitlines(keepends=True)
    (records / "records.ndjson").write_bytes(b"".join(rows))
    events, before = ("--events", folder / "events", "--dry-run"), whole_folder(folder)
    read = {"events": len(LINES), "rejected": 1}
    assert pipeline("run", *events, "--report", folder / "report.html")[:2] == (0, read)
    assert pipeline("ingest", *events)[1].items() >= read.items()
    _, backfilled, said = pipeline("backfill", "--records", records, "--dry-run")
    assert backfilled["records"] == len(rows)
    assert f"backfill: partition 0: {len(rows)} records, 20" in said  # and since when
    assert whole_folder(folder) == before

    assert pipeline("ingest", "--events", folder / "events")[0] == 0
    assert pipeline("aggregate")[0] == 0
    before = whole_folder(folder)
    generations = sum(json.loads(line)["kind"] == "generation" for line in LINES)
    assert pipeline("aggregate", "--dry-run")[:2] == (0, {"events": len(LINES)})
    assert pipeline("whatif", "--dry-run")[:2] == (0, {"generations": generations})
    assert pipeline("report", "--out", folder / "report.html", "--dry-run")[1]["groups"] > 1
    assert pipeline("maintain", "--dry-run")[1]["files"]["generations"] >= 1
    assert whole_folder(folder) == before


def test_stage_after_stage_comes_to_what_run_comes_to(pipeline, folder):
    assert pipeline("ingest", "--events", folder / "events")[0] == 0
    code, aggregated, said = pipeline("aggregate")
    assert (code, aggregated["broken"]) == (0, 0)
    assert "aggregate: group_hours" in said
    code, advised, _ = pipeline("whatif")
    assert (code, advised["broken"]) == (0, 0)
    code, whole, said = pipeline("run", "--events", folder / "events", "--report", folder / "report.html")
    assert (code, whole["generations"], whole["fidelity"]) == (0, aggregated["generations"], advised["fidelity"])
    assert "run: recommendations" in said
    assert (folder / "report.html").stat().st_size > 10_000


def test_a_missing_generation_is_reported_and_fails_only_a_strict_run(pipeline, folder, spark):
    reported = [json.loads(line) for line in LINES]
    eager = [each for each in reported if each["kind"] == "generation" and each["group"] == "eager"]
    left = [each for each in reported if each["event_id"] != eager[1]["event_id"]]
    (folder / "events" / "events.ndjson").write_text("\n".join(map(json.dumps, left)))
    assert pipeline("ingest", "--events", folder / "events")[0] == 0
    code, summary, said = pipeline("aggregate")
    assert (code, summary["broken"]) == (0, 0)
    assert f"warning: generations: {CONSECUTIVE}: 1 of " in said
    code, summary, _ = pipeline("aggregate", "--strict")
    assert (code, summary["broken"]) == (1, 1)
    rows = (
        DeltaTables(spark, str(folder / "tables"))
        .read("expectations")
        .where(f"expectation = '{CONSECUTIVE}'")
        .collect()
    )
    assert [(row["failed"], row["severity"]) for row in rows] == [(1, "warning")] * 2


def test_wrong_rows_end_a_run_with_exit_code_1_and_are_reported_in_the_table(pipeline, folder, spark):
    assert pipeline("ingest", "--events", folder / "events")[0] == 0
    tables = DeltaTables(spark, str(folder / "tables"))
    odd = tables.read("events").withColumn("day", F.date_add("day", 1)).limit(1)
    tables.overwrite("events", spark.createDataFrame(odd.collect(), odd.schema))
    code, summary, said = pipeline("aggregate")
    assert (code, summary["broken"]) == (1, 1)
    assert "error: events: day is the date of the timestamp: 1 of 1 break it, such as" in said
    (row,) = tables.read("expectations").where("failed > 0").collect()
    assert (row["table"], row["severity"], row["checked"]) == ("events", "error", 1)


def test_what_is_missing_is_said_with_exit_code_2(pipeline, folder):
    code, _, said = pipeline("run", "--events", folder / "nowhere")
    assert code == 2
    assert "has no files of events" in said
