"""Events as large as they get, many of them at once: the pipeline does not need the memory that all of them would."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rebalance_agent.model.codec import json_line
from support.event_rows import MONDAY_MS, generation, member

pytestmark = pytest.mark.slow

EVENTS = 300
BYTES_MIN = 900_000
MEMBERS = 4_000


def test_hundreds_of_events_of_a_megabyte_pass_through_the_usual_memory(tmp_path):
    members = [member(f"member-{each:05}-{'x' * 60}", (each,)) for each in range(MEMBERS)]
    events = tmp_path / "events"
    events.mkdir()
    with (events / "events-1.ndjson").open("wb") as file:
        for number in range(1, EVENTS + 1):
            line = json_line(generation(MONDAY_MS + number * 60_000, number, members))
            assert len(line) > BYTES_MIN
            file.write(line + b"\n")
    command = [
        sys.executable, "-m", "rebalance_agent.cli.main", "pipeline", "run", "--events", events,
        "--tables", tmp_path / "tables", "--report", tmp_path / "report.html", "--master", "local[2]",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1_800)
    assert done.returncode == 0, done.stderr[-4_000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["events"], summary["generations"], summary["rejected"]) == (EVENTS, EVENTS, 0)
