"""The command runs a fleet's whole history through every stage, and its last line is a summary."""

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
def reported(folder):
    """The input events, and the command's last output."""
    spark = [word for name, value in SHORT_LIVED.items() for word in ("--spark", f"{name}={value}")]
    command = [
        sys.executable, "-m", "rebalance_agent.cli.main", "pipeline", "run", "--events", str(folder / "events"),
        "--tables", str(folder / "tables"), "--report", str(folder / "report.html"),
        "--master", "local[2]", "--driver-memory", "1g", *spark,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(AGENT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [
        line for path in (folder / "events").glob("*.gz") for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    events = {each["event_id"]: each for each in map(json.loads, lines)}  # revised events occur again
    assert len(events) < len(lines)
    return list(events.values()), json.loads(done.stdout.splitlines()[-1])


def test_each_event_counts_once_and_other_lines_are_rejected(reported):
    events, summary = reported
    assert (summary["events"], summary["rejected"]) == (len(events), 1)
    assert summary["generations"] == sum(each["kind"] == "generation" for each in events)
    assert (summary["groups"], summary["broken"]) == (GROUPS, 0)


def test_every_reproducible_decision_is_repeated(reported):
    _, summary = reported
    found = summary["fidelity"]
    assert (found["moves"], found["skew"]) == (1.0, 1.0)
    assert found["checked"] > 50
    assert found["not_comparable"] > 0  # decisions of brokers


def test_tables_and_report_are_written(reported, folder, spark):
    _, summary = reported
    tables = DeltaTables(spark, str(folder / "tables"))
    assert tables.read("recommendations").count() == GROUPS
    checked = {row["table"] for row in tables.read("expectations").where("failed = 0").select("table").collect()}
    assert checked >= {"events", "events_rejected", "generations", "members", "whatif", "fidelity", "recommendations"}
    assert tables.read("generations").count() == summary["generations"]
    report = (folder / "report.html").read_text()
    assert report.lower().startswith("<!doctype html>")
