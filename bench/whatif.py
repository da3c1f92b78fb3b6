"""What-if generations a second: Spark beside a plain Python loop over the same functions, on a synthetic fleet.

Both read the same rows of table ``generations`` and do the same work: parse, replay through every strategy, check the
fidelity. Spark does a third of the groups and then all of them: what the second time takes more is the price of the
generations more, and what is left over is paid once, however many they are. The loop has one core, and does the third.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all the world calls it

from bench.fleets import DAYS, write_fleet
from bench.measure import table
from bench.tree import Took, took
from rebalance_agent.advice import fidelity, history_of, what_if
from rebalance_agent.clock import SystemClock
from rebalance_agent.model.codec import event_from_json
from rebalance_agent.pipeline.generations import generations
from rebalance_agent.pipeline.ingest import events_of_files, ingest_batch
from rebalance_agent.pipeline.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables import Tables
from rebalance_agent.pipeline.whatif import studies

GENERATIONS = 1_000_000
"""Of a fleet that takes an hour to replay; ``--scale 0.02`` shows the same trend."""

LOOP_MAX = 20_000
"""Generations that the loop does at most: what one costs does not change with their number."""

CORES = 2


def main(scale: float = 1.0) -> None:
    """Make a fleet of about so many generations, and replay it both ways."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-whatif-") as folder,
        open_session(SessionSettings(master=f"local[{CORES}]", driver_memory="2g"), "bench") as spark,
    ):
        groups = write_fleet(Path(folder) / "events", round(GENERATIONS * scale))
        tables = Tables(spark, f"{folder}/tables")
        ingest_batch(tables, events_of_files(spark, f"{folder}/events"), "files", SystemClock())
        tables.overwrite("generations", generations(tables.read("events")))
        rows = tables.read("generations")
        some = _share(rows, 1 / 3)
        # The first task of all starts Python's workers.
        first = took(lambda: _by_spark(tables, rows.limit(1)))
        third, whole = (took(lambda each=each: _by_spark(tables, each)) for each in (some, rows))  # type: ignore[misc]
        bodies = _bodies(_share(rows, min(1 / 3, LOOP_MAX / whole.count)))
        loop = took(lambda: sum(map(_study, bodies)))
    _show(groups, first, third, whole, loop)


def _share(rows: DataFrame, share: float) -> DataFrame:
    """The rows of about this share of the groups."""
    return rows.where(F.pmod(F.xxhash64("group"), F.lit(10_000)) < share * 10_000)


def _by_spark(tables: Tables, rows: DataFrame) -> int:
    studies(rows, tables.read("events")).write.format("noop").mode("overwrite").save()
    return rows.count()


def _bodies(rows: DataFrame) -> list[list[str]]:
    by_group: dict[str, list[str]] = {}
    for row in rows.orderBy("completed_at").select("group", "body").toLocalIterator():
        by_group.setdefault(row["group"], []).append(row["body"])
    return list(by_group.values())


def _study(bodies: Sequence[str]) -> int:
    """What a task of Spark's does for a group."""
    history = history_of(event_from_json(json.loads(body)) for body in bodies)
    what_if(history)
    fidelity(history)
    return len(bodies)


def _show(groups: int, first: Took, third: Took, whole: Took, loop: Took) -> None:
    more = Took(whole.count - third.count, whole.seconds - third.seconds, whole.cpu - third.cpu)
    once = max(0.0, whole.seconds - whole.count * more.seconds / more.count)
    print(f"{whole.count} generations of {groups} groups over {DAYS} days.\n")
    lines = (
        (f"Spark, local[{CORES}], a third", third),
        (f"Spark, local[{CORES}], all", whole),
        (f"Spark, local[{CORES}], each one more", more),
        ("plain loop", loop),
    )
    table(
        ("", "generations", "seconds", "generations/s", "CPU ms each"),
        [
            (name, each.count, each.seconds, each.count / each.seconds, 1e3 * each.cpu / each.count)
            for name, each in lines
        ],
    )
    print(f"\nThe first task takes {first.seconds:.1f} s, and what Spark does once for each run {once:.1f} s.")
    million = once + GENERATIONS * more.seconds / more.count
    alone = GENERATIONS * loop.seconds / loop.count
    print(
        f"At this rate {GENERATIONS} generations take Spark {million:.0f} s and the loop {alone:.0f} s: "
        f"{alone / million:.2f} times as long."
    )
