"""Formats numbers of the weekly page as text: amounts, changes, deploys and idle time. The text is not escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rebalance_agent.pipeline.weekly.weekly_rows import GroupWeeks, WeekChange, WeekTotals
from rebalance_agent.pipeline.weekly.weekly_summary import WeeklySummary
from rebalance_agent.ui.words import DASH, WEEKDAYS, amount, percent, share

__all__ = [
    "availability_text",
    "both_weeks",
    "budget_text",
    "change_percent",
    "change_points_text",
    "change_text",
    "deploys_text",
    "idle_text",
    "last_week",
]


def change_text(change: float) -> str:
    """Return a change of partition-seconds with its sign: ``+41,200``."""
    return f"{'+' if change >= 0 else '-'}{amount(abs(change))}"


def change_percent(value: float, before: float) -> str:
    """Return the change from ``before`` in percent: ``+98 %``; ``from 0`` if ``before`` is 0."""
    if not before:
        return "from\u00a00" if value else "no change"
    change = share(value - before, before)
    return f"{'+' if change >= 0 else '-'}{percent(abs(change), 0)}"


def both_weeks(summary: WeeklySummary, text: Callable[[WeekTotals], str]) -> str:
    """Return a value of the week with the value of the week before in parentheses: ``99.957 % (99.981 %)``."""
    return text(summary.this) + (f" ({text(summary.before)})" if summary.before else "")


def last_week(summary: WeeklySummary, text: Callable[[WeekTotals], str]) -> str:
    """Return a value of the week before: ``last week 99.981 %``; empty if it is unknown."""
    return f"last week {text(summary.before)}" if summary.before else ""


def availability_text(totals: WeekTotals) -> str:
    """Return the availability with three decimals, or a dash."""
    return percent(totals.availability, 3)


def budget_text(totals: WeekTotals, slo: float) -> str:
    """Return the used share of the stall budget, such as ``43 %``, or ``4.3 %`` below a tenth; or a dash."""
    used = totals.budget_used(slo)
    return percent(used, 1 if used and used < 0.1 else 0)  # noqa: PLR2004 - two digits


def change_points_text(changes: Sequence[WeekChange]) -> str:
    """Return when stall per rebalance or frequency changed, with the factor; a dash if neither did."""
    return "; ".join(_change_point(change) for change in changes) or DASH


def _change_point(change: WeekChange) -> str:
    at = change.changed_at
    return f"{WEEKDAYS[at.weekday()]} {at:%H:%M}: {change.signal.value} \u00d7\u00a0{change.ratio:.1f}"


def deploys_text(group: GroupWeeks) -> str:
    """Return a group's deploys, their share of its stall, and the start of the costliest: ``2 · 31 % · Tue 10:31``."""
    totals = group.this
    if not totals.deploys:
        return DASH
    at = group.costliest_deploy_at
    when = f" · {WEEKDAYS[at.weekday()]} {at:%H:%M}" if at else ""
    return f"{totals.deploys:,} · {percent(totals.deploy_share, 0)}{when}"


def idle_text(summary: WeeklySummary, member_hours: float) -> str:
    """Return the cost of member-hours (``49.44 EUR``) if a member's cost is set, or else the hours (``412 h``)."""
    cost = summary.settings.member_cost
    return cost.text(member_hours) if cost else f"{amount(member_hours)} h"
