"""A line of 700 MB in a small gzip file of events, which the pipeline ingests."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.replayed.replayed_row import ReplayedRow
from bench.tree import watched

__all__ = ["long_lines"]

MB = 1_000_000
LINE_MB = 700


def long_lines(scale: float) -> Iterator[ReplayedRow]:
    """Finding 11: the line is set aside; the memory is that of Java and of the Python workers."""
    megabytes = max(1, round(LINE_MB * scale))
    with tempfile.TemporaryDirectory(prefix="bench-long-line-") as folder:
        events = Path(folder, "events")
        events.mkdir()
        with gzip.open(events / "events.ndjson.gz", "wb") as file:
            for _ in range(megabytes):
                file.write(b"x" * MB)
            file.write(b"\n")
        command = [sys.executable, "-m", "rebalance_agent.cli.main", "pipeline", "ingest", "--output", "json"]
        arguments = ["--events", str(events), "--tables", f"{folder}/tables", "--master", "local[2]"]
        pipe = subprocess.PIPE
        with (
            subprocess.Popen([*command, *arguments], stdout=pipe, stderr=pipe, text=True) as run,
            watched(psutil.Process(run.pid)) as seen,
        ):
            out, err = run.communicate()
        attack = f"one gzip line of {megabytes} MB"
        found = f"exit code {run.returncode}"
        if run.returncode == 0:
            found += ", " + str(json.loads(out.strip().splitlines()[-1])["rejected"]) + " rejected"
        else:
            print(err[-2000:], file=sys.stderr)
        yield ReplayedRow(11, attack, "the stage ingest", "exit code 1, Java ended", found)
        memory = f"{seen.memory['java']:.0f} and {seen.memory['workers']:.0f} MiB"
        yield ReplayedRow(11, attack, "Java and the Python workers, peak", "-", memory)
