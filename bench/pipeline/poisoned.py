"""Compares the pipeline's tables of a million events with those of the same events among damaged ones.

``rebalance-agent pipeline run`` runs twice, with its default memory and settings. Then the rows of all groups without
damaged events are compared: a row that is different, missing or added is counted.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from itertools import islice
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bench.measure import say, table
from bench.pipeline.fleets import write_fleet
from bench.pipeline.poison import poison
from bench.pipeline.whole_pipeline import CORES, Run
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

GENERATIONS = 290_000
"""Generations of about a million events."""

DAMAGED = 1_500
MODELS = 2_000
SEED = 1
TABLES = ("events", "generations", "members", "group_hours", "baselines", "whatif", "fidelity", "recommendations")
ORDINARY = r"^c\d{4}-"
"""Pattern of the names of all groups without damaged events, which `write_fleet` gives them."""

OTHERS = ("ingested_at", "ran_at", "computed_at", "file")
"""Columns that are different in each run."""

DIGITS = 6
"""Decimal places that are compared: the last digits of a sum depend on the order of its numbers."""


def main(scale: float = 1.0) -> None:
    """Run the pipeline over about ``GENERATIONS * scale`` generations, alone and among damaged events."""
    with tempfile.TemporaryDirectory(prefix="bench-poisoned-") as name:
        folder = Path(name)
        fleet = write_fleet(folder / "events", round(GENERATIONS * scale))
        alone = _run(folder, "alone")
        (folder / "events" / "poison.ndjson").write_bytes(b"\n".join(poison(_models(folder), seed=SEED, count=DAMAGED)))
        among = _run(folder, "among")
        print(f"{fleet}; {DAMAGED:,} damaged events; {CORES} threads.\n", flush=True)
        with open_session(SessionSettings(master=f"local[{CORES}]"), "bench") as spark:
            before, after = (DeltaTables(spark, str(run.folder / "tables")) for run in (alone, among))
            rejected = after.read("events_rejected").count() - before.read("events_rejected").count()
            stored = after.read("events").count() - before.read("events").count()
            rows = [(each, *_different(before.read(each), after.read(each))) for each in TABLES]
        table(("table", "rows without damaged events", "different rows"), rows)
        if not rows[0][1]:
            raise SystemExit("no row was compared")
    seconds = [run.whole().seconds for run in (alone, among)]
    print(f"\nOf the damaged events, {rejected:,} were rejected, and {stored:,} stored.")
    print(f"The runs took {seconds[0]:.0f} and {seconds[1]:.0f} s; load {os.getloadavg()[1]:.1f}")


def _run(folder: Path, name: str) -> Run:
    (folder / name).mkdir()
    run = Run(folder / "events", folder / name)
    for stage in run.stages():
        say(f"{name}: {stage.name}, {stage.seconds:.0f} s")
    return run


def _models(folder: Path) -> list[dict[str, object]]:
    """Return events of the fleet, which are damaged."""
    first = min((folder / "events").glob("events-*.gz"))
    with gzip.open(first) as lines:
        return [json.loads(line) for line in islice(lines, MODELS)]


def _different(before: DataFrame, after: DataFrame) -> tuple[int, int]:
    """Return how many rows of ordinary groups ``before`` has, and how many rows only one of the two tables has."""
    rows, others = _rows(before), _rows(after)
    return rows.count(), rows.exceptAll(others).count() + others.exceptAll(rows).count()


def _rows(frame: DataFrame) -> DataFrame:
    """Return each row of an ordinary group as one text."""
    columns = [
        F.round(name, DIGITS).alias(name) if kind == "double" else F.col(name)
        for name, kind in frame.dtypes
        if name not in OTHERS
    ]
    return frame.where(F.col("group").rlike(ORDINARY)).select(F.to_json(F.struct(*columns)).alias("row"))
