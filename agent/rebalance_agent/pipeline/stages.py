"""The stages after ingest, from tables to tables: what `cli` and `run` call one by one.

Each reads whole tables and writes its own over: a run that is repeated, or that comes after late events, gives what one
run over everything would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812 - as all the world calls it

from rebalance_agent.pipeline.tables.baselines import BaselineSettings, baselines
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.expectations import expectations
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.pipeline.tables.recommendations import recommendations
from rebalance_agent.pipeline.tables.schemas import EXPECTATIONS
from rebalance_agent.pipeline.tables.whatif_tables import fidelities, studies, whatif

__all__ = ["ADVISED", "AGGREGATED", "FidelitySummary", "Tell", "advise", "aggregate", "fidelity_summary", "judge"]

AGGREGATED = ("events", "events_rejected", "generations", "members", "group_hours", "baselines")
"""Tables that can be judged after `aggregate`."""

ADVISED = ("whatif", "fidelity", "recommendations")
"""Those that can be after `advise`."""

Tell = Callable[[str], None]
"""Is told in words what is done, before it is."""


@dataclass(frozen=True, slots=True)
class FidelitySummary:
    """Shares of the ``checked`` recorded decisions that a replay repeats; 1.0 is all of them, None where none was."""

    moves: float | None
    skew: float | None
    checked: int
    not_comparable: int


def aggregate(tables: DeltaTables, now_ms: int, tell: Tell, settings: BaselineSettings | None = None) -> None:
    """Events to generations, members, hours and baselines."""
    tell("generations")
    tables.overwrite("generations", generations(tables.read("events")))
    tell("members")
    tables.overwrite("members", members(tables.read("generations")))
    tell("group_hours")
    tables.overwrite("group_hours", group_hours(tables.read("generations"), tables.read("events")))
    tell("baselines")
    tables.overwrite("baselines", baselines(tables.read("generations"), now_ms, settings))


def judge(tables: DeltaTables, now_ms: int, tell: Tell, names: Sequence[str] = AGGREGATED) -> Sequence[Row]:
    """Check what must hold of the tables of these names; the results, which are added to `expectations`, too."""
    tell(f"what must hold of {', '.join(names)}")
    found = expectations({name: tables.read(name) for name in names}, now_ms).collect()
    tables.append("expectations", tables.spark.createDataFrame(list(found), EXPECTATIONS.schema))
    return found


def advise(tables: DeltaTables, tell: Tell) -> None:
    """Every group's history through every strategy: what-if, fidelity, recommendations."""
    tell("what if: every group through every strategy")
    studied = studies(tables.read("generations"), tables.read("events")).persist()
    try:
        tables.overwrite("whatif", whatif(studied))
        tell("fidelity")
        tables.overwrite("fidelity", fidelities(studied))
        tell("recommendations")
        tables.overwrite("recommendations", recommendations(studied))
    finally:
        studied.unpersist()


def fidelity_summary(tables: DeltaTables) -> FidelitySummary:
    """Of all groups."""
    names = ("checked", "same_moves", "same_skew", "not_comparable")
    row = tables.read("fidelity").agg(*(F.sum(name) for name in names)).first()
    checked, moves, skew, others = (int(value or 0) for value in (row or (0, 0, 0, 0)))
    if not checked:
        return FidelitySummary(None, None, 0, others)
    return FidelitySummary(moves / checked, skew / checked, checked, others)
