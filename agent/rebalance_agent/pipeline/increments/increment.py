"""Computes `generations`, `members` and `group_hours` from the events that changed since the last run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.increments.changed_events import (
    NoIncrementError,
    changed_events,
    events_now,
    keep_changes,
    require_changes,
)
from rebalance_agent.pipeline.increments.group_days import replace_days
from rebalance_agent.pipeline.increments.processed import Progress, Run, last_progress
from rebalance_agent.pipeline.increments.reach import days_of_generations, days_of_hours
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import GroupDays, group_hours
from rebalance_agent.pipeline.tables.members import members

__all__ = ["update"]

_MADE = ("generations", "members", "group_hours")


def update(tables: DeltaTables, now_ms: int, on_step: Callable[[str], None], *, full: bool = False) -> None:
    """Compute the days of groups whose events changed since the last run, or all days.

    All days are computed if ``full`` is True, in the first run, in the first run of a release, and if the changes are
    unknown. Changes are unknown if, for example, the last run was more than `changed_events.AGE_HOURS_MAX` before
    ``now_ms`` (epoch). ``on_step`` is called with the reason.

    Raises:
        PipelineError: another run has begun to compute the tables.
    """
    if not tables.exists("events"):
        return
    try:
        before = _before(tables, full=full)
        run = Run(tables)
        run.begin(before)
        now = events_now(tables, now_ms)
        require_changes(tables, before, now)
        if now.version > before.version:
            _update(run, before.version, now.version, on_step)
    except NoIncrementError as reason:
        on_step(f"computing all days: {reason}")
        keep_changes(tables)
        run = Run(tables)
        run.begin(None)
        now = events_now(tables, now_ms)
        _compute_all(run, now.version, on_step)
    run.end(now)


def _before(tables: DeltaTables, *, full: bool) -> Progress:
    """Return what the last run has read.

    Raises:
        NoIncrementError: all days must be computed.
    """
    if full:
        raise NoIncrementError("as requested")
    before = last_progress(tables)
    if before is None:
        raise NoIncrementError("this is the first complete run of this release")
    if not all(map(tables.has_our_columns, _MADE)):
        raise NoIncrementError("a table is missing or has other columns")
    return before


def _compute_all(run: Run, until: int, on_step: Callable[[str], None]) -> None:
    tables = run.tables
    events = tables.read("events", until)
    on_step("generations")
    run.overwrite("generations", generations(events))
    on_step("members")
    run.overwrite("members", members(tables.read("generations")))
    on_step("group_hours")
    run.overwrite("group_hours", group_hours(tables.read("generations"), events))


def _update(run: Run, before: int, until: int, on_step: Callable[[str], None]) -> None:
    tables = run.tables
    events = tables.read("events", until)
    with changed_events(tables, before, until) as changes:
        if changes.isEmpty():  # `maintain` writes versions that change no rows
            return
        with _computed(days_of_generations(changes, events), events) as days:
            on_step(f"generations: {days.keys.count()} days of groups")
            replace_days(run, "generations", _generations(events, days), days.keys)
            on_step("members")
            replace_days(run, "members", members(days.rows(tables.read("generations"))), days.keys)
        rows = tables.read("generations")
        with _computed(days_of_hours(changes, rows, events), events) as days:
            on_step(f"group_hours: {days.keys.count()} days of groups")
            replace_days(run, "group_hours", group_hours(rows, events, days), days.keys)


@contextmanager
def _computed(keys: DataFrame, events: DataFrame) -> Iterator[GroupDays]:
    """Compute the keys once, and leave out ``days`` without events, because those need not be read."""
    kept = keys.persist()
    try:
        stored = kept.select("day").distinct().join(F.broadcast(events.select("day").distinct()), "day").collect()
        yield GroupDays(kept, sorted(row["day"] for row in stored))
    finally:
        kept.unpersist()


def _generations(events: DataFrame, days: GroupDays) -> DataFrame:
    """Return the rows of `generations` for these days, with their deploys; a deploy may end on a later day."""
    if not days.days:
        return generations(events.limit(0))
    is_deploy = F.col("kind") == RolloutEvent.KIND
    deploys = events.where(is_deploy & (F.col("day") >= F.date_sub(F.lit(days.days[0]), DRIFT_DAYS)))
    return generations(days.rows(events).where(~is_deploy).unionByName(deploys))
