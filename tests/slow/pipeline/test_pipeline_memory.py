"""Many events of maximum size: the pipeline does not need memory for all of them at once.

And its error message without enough memory.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import psutil
import pytest

from rebalance_agent.model.event_json import json_line
from support.observer.observing import eventually
from support.pipeline.event_rows import MONDAY_MS, generation, member
from support.pipeline.pipelines import LINES, START_S

pytestmark = pytest.mark.slow

EVENTS = 800
"""In one file that only one task can read."""
BYTES_MIN = 900_000
MEMBERS = 4_000


def command(stage, events, folder):
    main = [sys.executable, "-m", "rebalance_agent.cli.main", "pipeline", stage]
    return [*main, "--events", events, "--tables", folder / "tables", "--master", "local[2]", "--driver-memory", "1g"]


def test_hundreds_of_events_of_a_megabyte_are_ingested_with_a_gigabyte(tmp_path):
    members = [member(f"member-{each:05}-{'x' * 60}", (each,)) for each in range(MEMBERS)]
    events = tmp_path / "events"
    events.mkdir()
    with gzip.open(events / "events-1.ndjson.gz", "wb", 1) as file:
        for number in range(1, EVENTS + 1):
            line = json_line(generation(MONDAY_MS + number * 60_000, number, members))
            assert len(line) > BYTES_MIN
            file.write(line + b"\n")
    ingest = command("ingest", events, tmp_path)
    done = subprocess.run(ingest, capture_output=True, text=True, check=False, timeout=START_S)
    assert done.returncode == 0, done.stderr[-4_000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["events"], summary["rejected"]) == (EVENTS, 0)


def test_a_killed_java_is_reported_with_a_remedy(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "events-1.ndjson").write_bytes(b"\n".join(LINES))
    log = tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(command("run", tmp_path / "events", tmp_path), stdout=file, stderr=file)
    eventually(lambda: "run: generations" in log.read_text(), START_S, waiting_for=log)
    (java,) = (each for each in psutil.Process(process.pid).children(recursive=True) if each.name() == "java")
    java.kill()
    assert process.wait(START_S) == 1, log.read_text()
    assert "Java ended, usually because of too little memory" in log.read_text().splitlines()[-1]
