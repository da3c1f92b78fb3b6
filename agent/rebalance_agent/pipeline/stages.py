"""Runs the pipeline's stages after ingest; `cli` calls the stages one by one.

A repeated run, or a run after late events, gives the same result as one run over all events. A stage reads whole tables
and overwrites its own tables, or replaces only the groups' days that new events change (`increments`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.changes.change_tables import (
    change_candidates,
    cluster_candidates,
    discovered,
    rebalances_of_groups,
    slow_candidates,
)
from rebalance_agent.pipeline.increments.increment import update
from rebalance_agent.pipeline.recommendations.advice_table import advice_states, with_withheld
from rebalance_agent.pipeline.recommendations.recommendation_rows import recommendations
from rebalance_agent.pipeline.tables.baselines import BaselineSettings, baselines
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.expectations import expectations
from rebalance_agent.pipeline.tables.repeated_events import remove_repeated
from rebalance_agent.pipeline.tables.schemas import EXPECTATIONS, TABLES
from rebalance_agent.pipeline.tables.whatif_tables import fidelities, studies, whatif

__all__ = [
    "ADVISED",
    "AGGREGATED",
    "OnStep",
    "advise",
    "aggregate",
    "fidelity_summary",
    "find_changes",
    "follow_advice",
    "judge",
]

AGGREGATED = (
    "events",
    "events_rejected",
    "generations",
    "members",
    "group_hours",
    "baselines",
    "changes",
    "cluster_changes",
    "slow_members",
)
"""Names of the tables that `judge` can check after `aggregate`."""

ADVISED = ("whatif", "fidelity", "recommendations", "advice")
"""Names of the tables that `judge` can check after `advise`."""

OnStep = Callable[[str], None]
"""Called with a short text before each step of a stage."""


def aggregate(
    tables: DeltaTables,
    now_ms: int,
    on_step: OnStep,
    settings: BaselineSettings | None = None,
    *,
    full: bool = False,
) -> None:
    """Compute the other tables of `AGGREGATED` from ``events``, and ``baselines`` as of ``now_ms``.

    Rows of ``events`` with repeated ids are deleted first.

    Unless ``full`` is True, generations, members and group_hours are computed only for changed days (`increments`).
    """
    if number := remove_repeated(tables):
        on_step(f"events: {number} deleted, because other events have the same ids")
    update(tables, now_ms, on_step, full=full)
    on_step("baselines")
    tables.overwrite("baselines", baselines(tables.read("generations"), now_ms, settings))
    find_changes(tables, on_step)


def find_changes(tables: DeltaTables, on_step: OnStep) -> None:
    """Compute ``changes``, ``cluster_changes`` and ``slow_members`` from the other tables of `AGGREGATED`."""
    rebalances = rebalances_of_groups(
        *(tables.read(name) for name in ("generations", "group_hours", "events"))
    ).persist()
    try:
        for name, candidates in (
            ("changes", change_candidates(rebalances)),
            ("cluster_changes", cluster_candidates(rebalances)),
            ("slow_members", slow_candidates(tables.read("members"), tables.read("events"))),
        ):
            on_step(name)
            kept = candidates.persist()
            try:
                tables.overwrite(name, discovered(kept, TABLES[name]))
            finally:
                kept.unpersist()
    finally:
        rebalances.unpersist()


def judge(tables: DeltaTables, now_ms: int, on_step: OnStep, names: Sequence[str] = AGGREGATED) -> Sequence[Row]:
    """Check the expectations of the named tables; append the results to ``expectations``, and return the results."""
    on_step(f"expectations about {', '.join(names)}")
    results = expectations({name: tables.read(name) for name in names}, now_ms).collect()
    tables.append("expectations", tables.spark.createDataFrame(list(results), EXPECTATIONS.schema))
    return results


def advise(tables: DeltaTables, on_step: OnStep) -> None:
    """Replay every group's history with every strategy, and write the tables of `ADVISED`."""
    on_step("what-if: every group with every strategy")
    studied = studies(tables.read("generations"), tables.read("events")).persist()
    try:
        tables.overwrite("whatif", whatif(studied))
        on_step("fidelity")
        tables.overwrite("fidelity", fidelities(studied))
        on_step("recommendations")
        tables.overwrite("recommendations", recommendations(studied))
    finally:
        studied.unpersist()
    follow_advice(tables, on_step)


def follow_advice(tables: DeltaTables, on_step: OnStep) -> None:
    """Compute ``advice`` from its rows of the last run and from the other tables."""
    on_step("advice: results of earlier recommendations")
    read = (tables.read(name) for name in ("advice", "recommendations", "generations", "members", "events"))
    states = advice_states(*read).persist()
    try:
        tables.overwrite("advice", with_withheld(states))
    finally:
        states.unpersist()


def fidelity_summary(tables: DeltaTables) -> Mapping[str, float | None]:
    """Return how well replays reproduce recorded assignments, from the table ``fidelity``, over all groups.

    ``moves`` and ``skew``: the share (0 to 1) of the ``checked`` decisions for which the replay gives the same moves or
    skew; None if no decision was checked. ``not_comparable``: the number of decisions that could not be checked.
    """
    names = ("checked", "same_moves", "same_skew", "not_comparable")
    row = tables.read("fidelity").agg(*(F.sum(name) for name in names)).first()
    checked, moves, skew, others = (int(value or 0) for value in (row or (0, 0, 0, 0)))
    shares = {name: same / checked if checked else None for name, same in (("moves", moves), ("skew", skew))}
    return {**shares, "checked": checked, "not_comparable": others}
