"""Renders the weekly page as one HTML page that loads no other files and prints on two sheets of paper."""

from __future__ import annotations

from collections.abc import Callable

from rebalance_agent.pipeline.report.self_contained import self_contained
from rebalance_agent.pipeline.weekly import weekly_cards as cards
from rebalance_agent.pipeline.weekly.weekly_rows import WeekTotals
from rebalance_agent.pipeline.weekly.weekly_summary import WeeklySummary
from rebalance_agent.pipeline.weekly.weekly_words import (
    availability_text,
    budget_text,
    change_percent,
    idle_text,
    last_week,
)
from rebalance_agent.ui.svg.assets import asset
from rebalance_agent.ui.svg.pieces import key_figures
from rebalance_agent.ui.words import amount, escaped, minute, percent, shortened

__all__ = ["page"]

_CLUSTERS_SHOWN = 3


def page(summary: WeeklySummary) -> str:
    """Return the weekly page as HTML; only its own script can run in it."""
    week = summary.rows.week
    body = f"{_header(summary)}<main>{key_figures(_figures(summary))}{_sections(summary)}</main>"
    style = f"{asset('look.css')}\n{asset('weekly.css', __package__)}"
    return self_contained(f"Rebalances in week {week.name}", body, style=style, script=asset("tips.js"))


def _header(summary: WeeklySummary) -> str:
    week, made_at = summary.rows.week, summary.rows.made_at
    where = ", ".join(shortened(cluster_id, 40) for cluster_id in summary.clusters[:_CLUSTERS_SHOWN])
    where += " …" if len(summary.clusters) > _CLUSTERS_SHOWN else ""
    made = f" · made {minute(made_at)}" if made_at else ""
    compared = f", compared with {week.before.words}" if summary.before else ""
    shown = f"{week.words}{compared} · UTC · cluster {where or 'unknown'}{made}"
    notes = "".join(f'<p class="warning">{escaped(note)}</p>' for note in summary.notes)
    return f"<header><h1>Rebalances in week {week.name}</h1><p>{escaped(shown)}</p>{notes}</header>"


def _figures(summary: WeeklySummary) -> list[tuple[str, str, str]]:
    this, slo = summary.this, summary.settings.slo

    def budget(totals: WeekTotals) -> str:
        return budget_text(totals, slo)

    deploys = f"{percent(this.deploy_share, 0)} of the stall"
    figures = [
        ("availability", availability_text(this), last_week(summary, availability_text)),
        ("stall budget used", budget(this), last_week(summary, budget)),
        (
            "partition-seconds stalled",
            amount(this.stalled_partition_seconds),
            _changed(summary, lambda totals: totals.stalled_partition_seconds),
        ),
        ("rebalances", f"{this.rebalances:,}", _changed(summary, lambda totals: totals.rebalances)),
        ("deploys", f"{this.deploys:,}", _listed(last_week(summary, lambda totals: f"{totals.deploys:,}"), deploys)),
    ]
    if this.member_hours:
        of_all = f"{percent(this.idle_member_hours / this.member_hours, 0)} of all member-hours"
        before = last_week(summary, lambda totals: idle_text(summary, totals.idle_member_hours))
        shown = idle_text(summary, this.idle_member_hours)
        figures.append(("members without a partition", shown, _listed(before, of_all)))
    return figures


def _changed(summary: WeeklySummary, value: Callable[[WeekTotals], float]) -> str:
    if summary.before is None:
        return ""
    change = change_percent(value(summary.this), value(summary.before))
    return _listed(last_week(summary, lambda totals: amount(value(totals))), change)


def _listed(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _sections(summary: WeeklySummary) -> str:
    figures = [
        cards.days(summary),
        cards.deploys_by_team(summary),
        cards.movers(summary, "More stall than last week", summary.up),
        cards.movers(summary, "Less stall than last week", summary.down),
        cards.worst_groups(summary),
        cards.new_flappers(summary),
        cards.idle_members(summary),
        cards.near_limits(summary),
        cards.advice(summary),
    ]
    return f'<div class="grid">{"".join(figures)}</div>'
