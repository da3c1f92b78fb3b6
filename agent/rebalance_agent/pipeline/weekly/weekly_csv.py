"""Returns the weekly page's tables as rows of plain values for CSV, with complete lists and unrounded numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import NamedTuple

from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow
from rebalance_agent.pipeline.weekly.weekly_rows import (
    FlapperRow,
    GroupWeeks,
    SkewRow,
    TimeoutRow,
    WeekTotals,
)
from rebalance_agent.pipeline.weekly.weekly_summary import WeeklySummary

__all__ = ["CsvTable", "csv_tables"]

_SUMS = ("availability", "budget_used", "partition_seconds", "stalled_partition_seconds", "rebalances")
_DEPLOYS = ("deploys", "deploy_rebalances", "deploy_stalled_partition_seconds")


class CsvTable(NamedTuple):
    """One table: the names of its columns, and its rows as mappings from these names."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, object]]


def csv_tables(summary: WeeklySummary) -> Mapping[str, CsvTable]:
    """Return the tables by name. A table without rows exists, too. Values are empty if the week before is unknown."""
    return {
        "all": _all(summary),
        "groups": _groups(summary),
        "movers": _movers(summary),
        "deploys": _deploys(summary),
        "flapping": _flapping(summary),
        "idle": _idle(summary),
        "limits": _limits(summary),
        "advice": _advice(summary),
    }


def _all(summary: WeeklySummary) -> CsvTable:
    names = (*_SUMS, *_DEPLOYS, "member_hours", "idle_member_hours")
    weeks = [(summary.rows.week.name, summary.this)]
    if summary.before:
        weeks.append((summary.rows.week.before.name, summary.before))
    return CsvTable(("week", *names), [{"week": name, **_values(summary, week, names)} for name, week in weeks])


def _groups(summary: WeeklySummary) -> CsvTable:
    names = (*_SUMS, *_DEPLOYS)
    rows = [
        {**_key(group), **_values(summary, group.this, names), **_before(summary, group.before, names)}
        for group in summary.groups
    ]
    return CsvTable(("cluster_id", "group", *names, *(f"{name}_before" for name in names)), rows)


def _movers(summary: WeeklySummary) -> CsvTable:
    rows = [
        {
            **_key(group),
            "change": group.change,
            **_values(summary, group.this, ("stalled_partition_seconds", *_DEPLOYS)),
            **_before(summary, group.before, ("stalled_partition_seconds",)),
            "costliest_deploy_at": group.costliest_deploy_at and group.costliest_deploy_at.isoformat(),
        }
        for group in (*summary.up, *summary.down)
    ]
    names = ("stalled_partition_seconds", "stalled_partition_seconds_before", *_DEPLOYS, "costliest_deploy_at")
    return CsvTable(("cluster_id", "group", "change", *names), rows)


def _deploys(summary: WeeklySummary) -> CsvTable:
    rows = [
        {
            "team": each.team,
            "groups": each.groups,
            **_values(summary, each.this, _DEPLOYS),
            **_before(summary, each.before, _DEPLOYS),
        }
        for each in summary.teams
    ]
    return CsvTable(("team", "groups", *_DEPLOYS, *(f"{name}_before" for name in _DEPLOYS)), rows)


def _flapping(summary: WeeklySummary) -> CsvTable:
    rows = [
        {
            **_key(row),
            "member": row.name,
            "hours": row.hours,
            "flapping_members_before": each.before,
        }
        for each in summary.flappers
        for row in each.members
    ]
    return CsvTable(("cluster_id", "group", "member", "hours", "flapping_members_before"), rows)


def _idle(summary: WeeklySummary) -> CsvTable:
    cost, names = summary.settings.member_cost, ("idle_member_hours", "member_hours")
    rows = [
        {
            **_key(group),
            **_values(summary, group.this, names),
            **_before(summary, group.before, names),
            "cost": cost and group.this.idle_member_hours * cost.per_hour,
            "currency": cost and cost.currency,
        }
        for group in summary.idle
    ]
    return CsvTable(("cluster_id", "group", *names, *(f"{name}_before" for name in names), "cost", "currency"), rows)


def _limits(summary: WeeklySummary) -> CsvTable:
    timeouts = [
        {
            **_key(row),
            "limit": "rebalance_timeout",
            "highest": row.waited_seconds,
            "limit_at": row.timeout_seconds,
            "rebalances": row.rebalances,
            "member": row.member,
        }
        for row in summary.rows.timeouts
    ]
    skews = [
        {
            **_key(row),
            "limit": "skew",
            "highest": row.skew_max,
            "limit_at": None,
            "hours": row.hours,
        }
        for row in summary.rows.skews
    ]
    columns = ("cluster_id", "group", "limit", "highest", "limit_at", "rebalances", "hours", "member")
    return CsvTable(columns, [*timeouts, *skews])


def _advice(summary: WeeklySummary) -> CsvTable:
    names = tuple(field.name for field in fields(AdviceRow))
    rows = [{name: _plain(getattr(row, name)) for name in names} for row in summary.advice.rows]
    return CsvTable(names, rows)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, dt.datetime) else value


def _key(row: GroupWeeks | FlapperRow | SkewRow | TimeoutRow) -> Mapping[str, object]:
    return {"cluster_id": row.cluster_id, "group": row.group}


def _values(summary: WeeklySummary, totals: WeekTotals, names: Sequence[str]) -> Mapping[str, object]:
    used = {"budget_used": totals.budget_used(summary.settings.slo)}
    return {name: used[name] if name in used else getattr(totals, name) for name in names}


def _before(summary: WeeklySummary, totals: WeekTotals, names: Sequence[str]) -> Mapping[str, object]:
    values = _values(summary, totals, names) if summary.before else {}
    return {f"{name}_before": value for name, value in values.items()}
