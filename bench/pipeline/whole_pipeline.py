"""Measures the whole pipeline on files of events: seconds, CPU and peak memory of each stage.

``rebalance-agent pipeline run`` runs in its own process with its default memory and settings. Its log lines separate
the stages. Each stage is printed when it ends. After Ctrl-C, the interrupted stage is printed, too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from bench.measure import say, table
from bench.pipeline.fleets import write_fleet
from bench.tree import Seen, cpu_s, watched

GENERATIONS = 1_000_000
CORES = 2
END_S = 60.0
_STAGE, _PROGRESS = "run: ", re.compile(r"[\d,]+ of [\d,]+ tasks of the running Spark stages$")


@dataclass(frozen=True, slots=True)
class Lap:
    """One stage: seconds, CPU seconds, and the peak MiB of Java and of its Python workers."""

    name: str
    seconds: float
    cpu: float
    java: float
    workers: float


@dataclass
class Run:
    """A run of the command. ``events``, ``folder``: where it reads events, and writes tables and the report.

    ``laps``: the stages that have ended. ``summary``: the last line of the output.
    """

    events: Path
    folder: Path
    laps: list[Lap] = field(default_factory=list)
    summary: Mapping[str, Any] = field(default_factory=dict)

    def stages(self) -> Iterator[Lap]:
        """Run the command; yield each stage when it has ended."""
        command = [
            sys.executable, "-W", "ignore", "-m", "rebalance_agent.cli.main", "pipeline", "run", "--events",
            str(self.events), "--tables", str(self.folder / "tables"), "--report", str(self.folder / "report.html"),
            "--master", f"local[{CORES}]",
        ]  # fmt: skip
        running = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            with watched(psutil.Process(running.pid)) as seen:
                for lap in _laps(running, seen):
                    self.laps.append(lap)
                    yield lap
            out, _ = running.communicate()
            self.summary = json.loads(out.splitlines()[-1])
        finally:
            running.terminate()
            running.wait(END_S)

    def whole(self, name: str = "") -> Lap:
        """Return the sum of all stages whose name begins with ``name``; of their memory, the maximum."""
        some = [each for each in self.laps if each.name.startswith(name)]
        seconds, cpu = sum(each.seconds for each in some), sum(each.cpu for each in some)
        return Lap("total", seconds, cpu, max(each.java for each in some), max(each.workers for each in some))


def main(scale: float = 1.0) -> None:
    """Run the pipeline once over about ``GENERATIONS * scale`` generations, and print its stages."""
    with tempfile.TemporaryDirectory(prefix="bench-pipeline-") as folder:
        events = Path(folder) / "events"
        fleet = write_fleet(events, round(GENERATIONS * scale))
        print(f"{fleet}; {CORES} threads.\n", flush=True)
        run = Run(events, Path(folder))
        table(
            ("stage", "seconds", "CPU s", "CPU ms a generation", "java MiB", "workers MiB"),
            (_row(each, fleet.generations) for each in _and_whole(run)),
        )
    print("\nSummary:", json.dumps(run.summary), f"load {os.getloadavg()[1]:.1f}")


def _and_whole(run: Run) -> Iterator[Lap]:
    yield from run.stages()
    yield run.whole()


def _row(lap: Lap, generations: int) -> tuple[object, ...]:
    return lap.name, lap.seconds, lap.cpu, 1e3 * lap.cpu / generations, lap.java, lap.workers


def _laps(running: subprocess.Popen[str], seen: Seen) -> Iterator[Lap]:
    """Yield a lap for each stage line of the command; lines of progress are printed to standard error."""
    root = psutil.Process(running.pid)
    name, at, cpu = "start", perf_counter(), 0.0

    def lap(used: float, mark: str = "") -> Lap:
        memory, seen.memory = seen.memory, Counter()
        return Lap(name + mark, perf_counter() - at, used - cpu, memory["java"], memory["workers"])

    assert running.stderr is not None
    said: list[str] = []
    try:
        for line in running.stderr:
            text = line.removeprefix(_STAGE).strip()
            said.append(text)
            if not line.startswith(_STAGE) or _PROGRESS.match(text):
                say(text)
                continue
            used = cpu_s(root)
            yield lap(used)
            name, at, cpu = _short(text), perf_counter(), used
    except KeyboardInterrupt:
        yield lap(seen.cpu, ", interrupted")
        raise
    if running.wait(END_S):
        raise SystemExit("the pipeline failed:\n" + "\n".join(said[-20:]))
    yield lap(seen.cpu)


def _short(text: str) -> str:
    return "expectations" if text.startswith("expectations about") else text
