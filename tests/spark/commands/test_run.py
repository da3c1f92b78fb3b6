"""The command runs a fleet's whole history through every stage, and its last line is a summary.

Single stages give the same result, and a dry run of one on the tables changes nothing.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import pytest

from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.testing.synthetic.event_files import synthesize
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from support.pipeline.pipelines import AGENT, SHORT_LIVED

GROUPS = 8  # of all types


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    synthesize(FleetPlan(GROUPS, 3, seed=1), folder / "events", 1, lambda _: None)
    (folder / "events" / "events-damaged.ndjson").write_text("no event\n")
    return folder


@pytest.fixture(scope="module")
def ended(folder):
    """The command, which has ended with the exit code 0."""
    spark = [word for name, value in SHORT_LIVED.items() for word in ("--spark", f"{name}={value}")]
    command = [
        sys.executable, "-m", "rebalance_agent.cli.main", "pipeline", "run", "--events", str(folder / "events"),
        "--tables", str(folder / "tables"), "--report", str(folder / "report.html"),
        "--master", "local[2]", "--driver-memory", "1g", *spark,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(AGENT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done


@pytest.fixture(scope="module")
def reported(ended, folder):
    """The events that were read, and the last line that the command printed."""
    lines = [
        line for path in (folder / "events").glob("*.gz") for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    events = {each["event_id"]: each for each in map(json.loads, lines)}  # revised events occur again
    assert len(events) < len(lines)
    return list(events.values()), json.loads(ended.stdout.splitlines()[-1])


def test_each_event_counts_once_and_what_is_none_is_rejected(reported):
    events, summary = reported
    assert (summary["events"], summary["rejected"]) == (len(events), 1)
    assert summary["generations"] == sum(each["kind"] == "generation" for each in events)
    assert (summary["groups"], summary["broken"]) == (GROUPS, 0)


def test_every_decision_that_is_defined_is_repeated(reported):
    _, summary = reported
    found = summary["fidelity"]
    assert (found["moves"], found["skew"]) == (1.0, 1.0)
    assert found["checked"] > 50
    assert found["not_comparable"] > 0  # those of brokers


def test_tables_and_report_are_written(reported, folder, spark):
    _, summary = reported
    tables = DeltaTables(spark, str(folder / "tables"))
    assert tables.read("recommendations").count() == GROUPS
    checked = {row["table"] for row in tables.read("expectations").where("failed = 0").select("table").collect()}
    assert checked >= {"events", "events_rejected", "generations", "members", "whatif", "fidelity", "recommendations"}
    assert tables.read("generations").count() == summary["generations"]
    report = (folder / "report.html").read_text()
    assert report.lower().startswith("<!doctype html>")
    assert len(report) > 10_000


def test_stage_after_stage_comes_to_what_run_comes_to(run, ended, reported, folder, tmp_path):
    assert run(tmp_path, "ingest", "--events", folder / "events")[0] == 0
    code, aggregated, said = run(tmp_path, "aggregate")
    assert (code, aggregated["broken"]) == (0, 0)
    assert "aggregate: group_hours" in said
    code, advised, _ = run(tmp_path, "whatif")
    assert (code, advised["broken"]) == (0, 0)
    _, whole = reported
    assert (whole["generations"], whole["fidelity"]) == (aggregated["generations"], advised["fidelity"])
    assert "run: recommendations" in ended.stderr


def test_a_week_is_written_into_a_folder(run, reported, folder, tmp_path):
    flags = ("--weekly", "--until", "2026-06-07", "--out", tmp_path / "weekly")
    code, summary, _ = run(folder, "report", *flags)
    files = sorted(path.name for path in (tmp_path / "weekly").iterdir())
    assert (code, summary["week"], summary["groups"], summary["files"]) == (0, "2026-W23", GROUPS, len(files))
    assert files[-2:] == ["weekly.html", "weekly.txt"]
    text = (tmp_path / "weekly" / "weekly.txt").read_text()
    assert "This week is incomplete: the tables end at 2026-06-0" in text  # after three days
    rows = (tmp_path / "weekly" / "weekly-groups.csv").read_text().splitlines()
    assert len(rows) == 1 + GROUPS


def test_a_dry_run_of_tables_counts_and_writes_nothing(run, reported, folder, contents):
    _, summary = reported
    before = contents(folder)
    assert run(folder, "aggregate", "--dry-run")[:2] == (0, {"events": summary["events"]})
    assert run(folder, "whatif", "--dry-run")[:2] == (0, {"generations": summary["generations"]})
    assert run(folder, "report", "--out", folder / "other.html", "--dry-run")[1]["groups"] == GROUPS
    assert run(folder, "maintain", "--dry-run")[1]["files"]["generations"] >= 1
    assert contents(folder) == before
