"""The whole pipeline over files of events, as the command runs it: seconds and CPU of each stage, and peak memory.

``rebalance-agent pipeline run`` in a process of its own, with the memory and settings that it has by default. The lines
in which it says what it does tell its stages apart.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from bench.fleets import write_fleet
from bench.measure import table
from bench.tree import cpu_s, watched

GENERATIONS = 1_000_000
CORES = 2
_TASKS = re.compile(r"[\d,]+ of [\d,]+ tasks$")


@dataclass(frozen=True, slots=True)
class Lap:
    """One stage."""

    name: str
    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Run:
    """What the command said in its last line, its stages, and the most memory (MiB) that it had."""

    summary: Mapping[str, Any]
    laps: Sequence[Lap]
    memory: Mapping[str, float]

    @property
    def cpu(self) -> float:
        return sum(each.cpu for each in self.laps)

    def cpu_of(self, name: str) -> float:
        """Of the stages whose line begins so."""
        return sum(each.cpu for each in self.laps if each.name.startswith(name))


def main(scale: float = 1.0) -> None:
    """Run it once over about so many generations."""
    with tempfile.TemporaryDirectory(prefix="bench-pipeline-") as folder:
        events = Path(folder) / "events"
        groups = write_fleet(events, round(GENERATIONS * scale))
        run = run_pipeline(events, Path(folder))
    generations, size = run.summary["generations"], run.summary["events"]
    print(f"{size} events, {generations} generations of {groups} groups; {CORES} threads.\n")
    laps = [*run.laps, Lap("in all", sum(each.seconds for each in run.laps), run.cpu)]
    table(
        ("stage", "seconds", "CPU s", "generations/s"),
        [(each.name, each.seconds, each.cpu, generations / each.seconds) for each in laps],
    )
    print("\nPeak memory:", ", ".join(f"{name} {mib:.0f} MiB" for name, mib in sorted(run.memory.items())))
    print("Summary:", json.dumps(run.summary), f"load {os.getloadavg()[1]:.1f}")


def run_pipeline(events: Path, folder: Path) -> Run:
    """The command over these files, its tables and report in ``folder``."""
    command = [
        sys.executable, "-W", "ignore", "-m", "rebalance_agent.cli.main", "pipeline", "run", "--events", str(events),
        "--tables", str(folder / "tables"), "--report", str(folder / "report.html"), "--master", f"local[{CORES}]",
    ]  # fmt: skip
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    root = psutil.Process(running.pid)
    assert running.stdout is not None
    assert running.stderr is not None
    laps: list[Lap] = []
    name, at, cpu = "start", perf_counter(), 0.0
    said = []
    with watched(root) as seen:
        for line in running.stderr:
            said.append(line)
            if not line.startswith("run: ") or _TASKS.search(line):
                continue
            now, used = perf_counter(), cpu_s(root)
            laps.append(Lap(name, now - at, used - cpu))
            name, at, cpu = line.removeprefix("run: ").strip(), now, used
            if name.startswith("what must hold"):
                name = "what must hold"
        out = running.stdout.read()
    if running.wait():
        raise SystemExit("the pipeline failed:\n" + "".join(said[-20:]))
    laps.append(Lap(name, perf_counter() - at, seen.cpu - cpu))
    return Run(json.loads(out.splitlines()[-1]), laps, seen.memory)
