"""Reads the change points of the week that explain why a group's stall changed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.changes.group_signals import Signal
from rebalance_agent.pipeline.report.queries.report_columns import collected
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.weekly.queries.two_weeks import is_in
from rebalance_agent.pipeline.weekly.weekly_rows import WeekChange
from rebalance_agent.pipeline.weekly.weeks import Week

__all__ = ["CHANGES_MAX", "change_points"]

CHANGES_MAX = 20_000
"""Maximum number of change points that are read, the largest first; a page shows those of ten groups."""


def change_points(changes: DataFrame, week: Week) -> tuple[WeekChange, ...]:
    """Return the week's changes of stall and frequency; ``changes``: rows of this table."""
    rows = (
        changes.where(is_in(week, "changed_at") & F.col("signal").isin(Signal.STALL.value, Signal.FREQUENCY.value))
        .orderBy(F.abs(F.ln("ratio")).desc(), *GROUP, "signal", "changed_at")
        .limit(CHANGES_MAX)
    )
    return tuple(
        WeekChange(cluster_id, group, Signal(signal), changed_at, ratio)
        for cluster_id, group, signal, changed_at, ratio in collected(rows, *GROUP, "signal", "changed_at", "ratio")
    )
