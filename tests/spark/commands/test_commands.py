"""Every stage as a user runs it: output, exit code, and the files that it leaves unchanged."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.cli.main import main
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

GOLDEN = Path(__file__).parents[2] / "golden"
LINES = (GOLDEN / "captured_topic_events.ndjson").read_bytes().splitlines()
CONSECUTIVE = "generations are consecutive except aborted ones"


@pytest.fixture(scope="module")
def run(spark):
    """Runs a stage on a folder's tables; returns the exit code, the last line and stderr."""

    def run(folder, stage, *arguments):
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
            # The tests' session replaces each command's own.
            patch.setattr("rebalance_agent.cli.inputs.pipeline_flags.open_session", lambda *_: nullcontext(spark))
            with redirect_stderr(io.StringIO()) as errors:
                code = main(["pipeline", stage, "--tables", str(folder / "tables"), *map(str, arguments)])
        lines = out.getvalue().splitlines()
        return code, json.loads(lines[-1]) if lines else None, errors.getvalue()

    return run


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    (folder / "events.ndjson").write_bytes(b"\n".join((*LINES, b"no event")))
    return folder


@pytest.fixture(scope="module")
def once_ingested(run, events, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ingested")
    assert run(folder, "ingest", "--events", events)[0] == 0
    return folder


@pytest.fixture(scope="module")
def whole_run(run, events, tmp_path_factory):
    """A folder after `run` of all stages, its summary and stderr."""
    folder = tmp_path_factory.mktemp("whole")
    code, summary, errors = run(folder, "run", "--events", events, "--report", folder / "report.html")
    assert code == 0
    return folder, summary, errors


@pytest.fixture
def ingested(once_ingested, tmp_path):
    """A separate folder with the events' tables."""
    shutil.copytree(once_ingested, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def pipeline(run, ingested):
    return lambda stage, *arguments: run(ingested, stage, *arguments)


def whole_folder(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_dry_run_before_the_first_one_counts_and_writes_nothing(run, events, tmp_path):
    records = tmp_path / "records"
    records.mkdir()
    _, *rows = (GOLDEN / "captured_topic.ndjson").read_bytes().splitlines(keepends=True)
    (records / "records.ndjson").write_bytes(b"".join(rows))
    flags, before = ("--events", events, "--dry-run"), whole_folder(tmp_path)
    read = {"events": len(LINES), "rejected": 1}
    assert run(tmp_path, "run", *flags, "--report", tmp_path / "report.html")[:2] == (0, read)
    assert run(tmp_path, "ingest", *flags)[1].items() >= read.items()
    _, backfilled, said = run(tmp_path, "backfill", "--records", records, "--dry-run")
    assert backfilled["records"] == len(rows)
    assert f"backfill: partition 0: {len(rows)} records, 20" in said  # and since when
    assert whole_folder(tmp_path) == before


def test_a_dry_run_of_tables_counts_and_writes_nothing(run, whole_run):
    folder, _, _ = whole_run
    before = whole_folder(folder)
    generations = sum(json.loads(line)["kind"] == "generation" for line in LINES)
    assert run(folder, "aggregate", "--dry-run")[:2] == (0, {"events": len(LINES)})
    assert run(folder, "whatif", "--dry-run")[:2] == (0, {"generations": generations})
    assert run(folder, "report", "--out", folder / "other.html", "--dry-run")[1]["groups"] > 1
    assert run(folder, "maintain", "--dry-run")[1]["files"]["generations"] >= 1
    assert whole_folder(folder) == before


def test_single_stages_give_the_result_of_run(pipeline, whole_run):
    code, aggregated, said = pipeline("aggregate")
    assert (code, aggregated["broken"]) == (0, 0)
    assert "aggregate: group_hours" in said
    code, advised, _ = pipeline("whatif")
    assert (code, advised["broken"]) == (0, 0)
    folder, whole, said = whole_run
    assert (whole["generations"], whole["fidelity"]) == (aggregated["generations"], advised["fidelity"])
    assert "run: recommendations" in said
    assert (folder / "report.html").stat().st_size > 10_000


def test_a_missing_generation_is_a_warning_which_ends_a_strict_run(pipeline, ingested, spark):
    reported = [json.loads(line) for line in LINES]
    eager = [each for each in reported if each["kind"] == "generation" and each["group"] == "eager"]
    tables = DeltaTables(spark, str(ingested / "tables"))
    left = tables.read("events").where(F.col("event_id") != eager[1]["event_id"])
    tables.overwrite("events", spark.createDataFrame(left.collect(), left.schema))
    code, summary, said = pipeline("aggregate", "--strict")
    assert (code, summary["broken"]) == (1, 1)
    assert f"warning: generations: {CONSECUTIVE}: 1 of " in said
    (row,) = tables.read("expectations").where(f"expectation = '{CONSECUTIVE}'").collect()
    assert (row["failed"], row["severity"]) == (1, "warning")


def test_wrong_rows_end_a_run_with_exit_code_1_and_are_reported_in_the_table(pipeline, ingested, spark):
    tables = DeltaTables(spark, str(ingested / "tables"))
    odd = tables.read("events").withColumn("day", F.date_add("day", 1)).limit(1)
    tables.overwrite("events", spark.createDataFrame(odd.collect(), odd.schema))
    code, summary, said = pipeline("aggregate")
    assert (code, summary["broken"]) == (1, 1)
    assert "error: events: day is the date of the timestamp: 1 of 1 break it, such as" in said
    (row,) = tables.read("expectations").where("failed > 0").collect()
    assert (row["table"], row["severity"], row["checked"]) == ("events", "error", 1)


def test_missing_input_is_reported_with_exit_code_2(run, tmp_path):
    code, _, said = run(tmp_path, "run", "--events", tmp_path / "nowhere")
    assert code == 2
    assert "has no files of events" in said
