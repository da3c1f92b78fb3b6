"""Measures generations per second of the what-if replay: Spark, compared with a plain Python loop.

Both read rows of the table ``generations`` of a synthetic history, and do the same work: they parse the rows, replay
them through every strategy, and check the fidelity. Spark processes a tenth of the groups and then all groups. The
additional time of the second run is the cost of the additional generations; the rest is a fixed cost. The loop uses one
core, and processes the same tenth, or fewer groups with about `LOOP_MAX` generations.
"""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from bench.measure import say, table
from bench.pipeline.fleets import DAYS, write_fleet
from bench.tree import Took, took
from rebalance_agent.advice import fidelity, history_of, what_if
from rebalance_agent.clock import SystemClock
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.pipeline.ingest.ingest_events import events_of_files, ingest_batch
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.spark.task_progress import report_tasks
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.whatif_tables import OBJECTS_NEW_MAX, studies

GENERATIONS = 1_000_000
"""Approximate number of generations; ``--scale 0.05`` shows the same trend."""

LOOP_MAX = 20_000
"""Approximate maximum number of generations for the loop; the cost of one does not depend on their number."""

SHARE = 1 / 10
CORES = 2


def main(scale: float = 1.0) -> None:
    """Write a history of about ``GENERATIONS * scale`` generations, and replay it in both ways."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-whatif-") as folder,
        open_session(SessionSettings(master=f"local[{CORES}]", driver_memory="2g"), "bench") as spark,
        report_tasks(spark, say),
    ):
        fleet = write_fleet(Path(folder) / "events", round(GENERATIONS * scale))
        tables = DeltaTables(spark, f"{folder}/tables")
        say("ingesting them")
        ingest_batch(tables, events_of_files(spark, f"{folder}/events"), "files", SystemClock())
        say("table of generations")
        tables.overwrite("generations", generations(tables.read("events")))
        # The first task starts Spark's Python workers.
        first = took(lambda: _by_spark(tables, tables.read("generations").limit(1)))
        print(f"{fleet} over {DAYS} days. The first task takes {first.seconds:.1f} s.\n", flush=True)
        found: dict[str, Took] = {}
        table(("", "generations", "seconds", "generations/s", "CPU ms each"), _rows(tables, found))
    _compare(*found.values())


def _rows(tables: DeltaTables, found: dict[str, Took]) -> Iterator[tuple[object, ...]]:
    rows = tables.read("generations")
    some = _share(rows, SHARE)
    work: dict[str, Callable[[], Took]] = {
        f"Spark, local[{CORES}], a tenth": lambda: took(lambda: _by_spark(tables, some)),
        "plain loop": lambda: _loop(_share(rows, min(SHARE, LOOP_MAX / (some.count() / SHARE)))),
        f"Spark, local[{CORES}], all": lambda: took(lambda: _by_spark(tables, rows)),
    }
    for name, measure in work.items():
        found[name] = each = measure()
        yield name, each.count, each.seconds, each.count / each.seconds, 1e3 * each.cpu / each.count


def _loop(rows: DataFrame) -> Took:
    bodies = _bodies(rows)
    gc.set_threshold(OBJECTS_NEW_MAX)  # as in Spark's workers
    return took(lambda: sum(map(_study, bodies)))


def _share(rows: DataFrame, share: float) -> DataFrame:
    """Return the rows of about this ``share`` of the groups."""
    return rows.where(F.pmod(F.xxhash64("group"), F.lit(10_000)) < share * 10_000)


def _by_spark(tables: DeltaTables, rows: DataFrame) -> int:
    studies(rows, tables.read("events")).write.format("noop").mode("overwrite").save()
    return rows.count()


def _bodies(rows: DataFrame) -> list[list[str]]:
    by_group: dict[str, list[str]] = {}
    for row in rows.orderBy("completed_at").select("group", "body").toLocalIterator():
        by_group.setdefault(row["group"], []).append(row["body"])
    return list(by_group.values())


def _study(bodies: Sequence[str]) -> int:
    """Do the work of a Spark task for one group."""
    history = history_of(event_from_json(json.loads(body)) for body in bodies)
    what_if(history)
    fidelity(history)
    return len(bodies)


def _compare(tenth: Took, loop: Took, whole: Took) -> None:
    count, seconds, cpu = (getattr(whole, name) - getattr(tenth, name) for name in ("count", "seconds", "cpu"))
    once = max(0.0, whole.seconds - whole.count * seconds / count)
    alone = GENERATIONS * loop.seconds / loop.count
    by_spark = once + GENERATIONS * seconds / count
    print(
        f"\nEach one more takes Spark {1e3 * cpu / count:.2f} ms of CPU, {count / seconds:.0f} a second; what it does "
        f"once for each run {once:.1f} s.\nAt this rate {GENERATIONS:,} generations take Spark {by_spark:.0f} s and "
        f"the loop {alone:.0f} s: {alone / by_spark:.2f} times as long."
    )
