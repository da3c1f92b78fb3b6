"""Measures `aggregate` after one more day of events, compared with the same tables from the whole history.

Both runs are in one Spark session with the memory and settings of the command; the start of the session is not
measured. A full run without the last day comes first, so that Java has compiled the code of full runs, but not that of
increments. Two other increments are measured: one late event, and no new event. `aggregate` always computes its other
tables from the whole history; they are shown for comparison.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from bench.measure import say, table
from bench.pipeline.fleets import copy_groups, lately_ms
from bench.tree import cpu_s
from rebalance_agent.clock import SystemClock
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.pipeline.increments.increment import update
from rebalance_agent.pipeline.ingest.ingest_events import events_of_files, ingest_batch
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.stages import aggregate, judge
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from rebalance_agent.testing.synthetic.synthetic_history import history

GROUPS = 50
DAYS = 60
CORES = 2
LATE_DAYS = 30
"""Days from the late event to the end of the history."""

_DAY_MS = 86_400_000


class Laps:
    """The seconds and CPU seconds between the steps of a stage."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float]] = []
        self._last: tuple[str, float, float] | None = None

    def step(self, name: str) -> None:
        """End the last step, and begin the step ``name``."""
        now = perf_counter(), cpu_s()
        if self._last:
            before, seconds, cpu = self._last
            self.rows.append((before, now[0] - seconds, now[1] - cpu))
        self._last = name, *now


def main(scale: float = 1.0) -> None:
    """Run `aggregate` without the last day, update its tables for the last day and other increments, and compare."""
    copies = max(1, round(scale))
    with (
        tempfile.TemporaryDirectory(prefix="bench-increments-") as folder,
        open_session(SessionSettings(master=f"local[{CORES}]"), "bench") as spark,
    ):
        parts = _play(Path(folder), max(2, round(GROUPS * min(scale, 1))), copies)
        tables = DeltaTables(spark, f"{folder}/tables")

        def ingest(part: str) -> None:
            say(f"ingesting: {part}")
            ingest_batch(tables, events_of_files(spark, str(parts[part])), "files", SystemClock())

        ingest("history")
        aggregate(tables, SystemClock().now_ms(), say)
        table(("", "seconds", "CPU s", "of the full run", "of its CPU"), _rows(tables, ingest))
        rows = tables.read("generations")
        groups, load = rows.select("group").distinct().count(), os.getloadavg()[1]
        print(f"\n{rows.count():,} generations of {groups:,} groups over {DAYS} days; load {load:.1f}")


def _rows(tables: DeltaTables, ingest: Callable[[str], None]) -> Iterator[tuple[object, ...]]:
    measured = {}
    for part in ("day", "late", "nothing"):
        if part != "nothing":
            ingest(part)
        measured[part] = _update(tables)
    full = measured["full"] = _update(tables, full=True)
    names = {"full": "full run", "day": "one more day", "late": "one late event", "nothing": "no new event"}
    for part, name in names.items():
        laps = measured[part]
        for step, seconds, cpu in laps.rows:
            yield f"{name}: {step}", seconds, cpu, "", ""
        (seconds, cpu), (of_seconds, of_cpu) = _whole(laps), _whole(full)
        yield f"**{name}**", seconds, cpu, seconds / of_seconds, cpu / of_cpu
    others = Laps()
    others.step("other tables")
    aggregate(tables, SystemClock().now_ms(), lambda _: None)
    others.step("expectations")
    judge(tables, SystemClock().now_ms(), lambda _: None)
    others.step("")
    for name, seconds, cpu in others.rows:
        yield name, seconds, cpu, "", ""


def _update(tables: DeltaTables, *, full: bool = False) -> Laps:
    laps = Laps()

    def on_step(text: str) -> None:
        say(text)
        laps.step(text)

    laps.step("what changed")
    update(tables, SystemClock().now_ms(), on_step, full=full)
    laps.step("")
    return laps


def _whole(laps: Laps) -> tuple[float, float]:
    return sum(row[1] for row in laps.rows), sum(row[2] for row in laps.rows)


def _play(folder: Path, groups: int, copies: int) -> dict[str, Path]:
    """Write the files of the history without its last day, of the last day, and of one late event."""
    say(f"playing {groups} groups over {DAYS} days, {copies} copies")
    since_ms = lately_ms(DAYS)
    parts = {name: folder / f"{name}-played" for name in ("history", "day", "late")}
    for part in parts.values():
        part.mkdir()
    fleet = FleetPlan(groups, DAYS, seed=7, since_ms=since_ms)
    has_late = False
    for number in range(groups):
        lines: dict[str, list[bytes]] = {name: [] for name in parts}
        for event in history(fleet, number):
            day = (event.timestamp_ms - since_ms) // _DAY_MS
            is_late = not has_late and day == DAYS - LATE_DAYS and event.KIND == GenerationEvent.KIND
            has_late |= is_late
            name = "late" if is_late else "day" if day >= DAYS - 1 else "history"
            lines[name].append(json_line(event) + b"\n")
        for name, played in parts.items():
            with gzip.open(played / f"events-{number}.ndjson.gz", "wb", 1) as file:
                file.writelines(lines[name])
    for name, played in parts.items():
        copy_groups(played, folder / name, 1 if name == "late" else copies)
    return {name: folder / name for name in parts}
