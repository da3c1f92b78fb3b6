"""Renders the parts of the weekly page: the chart of days and one table for each subject."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from rebalance_agent.pipeline.recommendations.advice_words import change_words, interval_words, state_words
from rebalance_agent.pipeline.report.all_groups import group_name
from rebalance_agent.pipeline.report.charts import NARROW, Stack, stacks
from rebalance_agent.pipeline.weekly.weekly_rows import SKEW_NEAR, TIMEOUT_NEAR, GroupWeeks
from rebalance_agent.pipeline.weekly.weekly_summary import WeeklySummary
from rebalance_agent.pipeline.weekly.weekly_words import (
    availability_text,
    budget_text,
    change_percent,
    change_points_text,
    change_text,
    deploys_text,
    idle_text,
)
from rebalance_agent.ui.svg.pieces import figure, legend, table_parts
from rebalance_agent.ui.words import WEEKDAYS, amount, day, escaped, percent, rounded_duration, shortened

__all__ = ["advice", "days", "deploys_by_team", "idle_members", "movers", "near_limits", "new_flappers", "worst_groups"]

_ROWS = 8
"""Maximum number of rows of a table on the page, so that the whole page fits on two sheets of paper."""

_WORST = 10
_LIMITED = 5
_NAMES = 3
_NO_GROUP = "No consumer group."


def days(summary: WeeklySummary) -> str:
    """Render the stall of each day; a stroke shows the stall of the same day in the week before."""
    rows, columns, data = summary.rows, [], []
    for number, weekday in enumerate(WEEKDAYS):
        value, before = rows.days[7 + number], rows.days[number] if rows.has_before else None
        name = f"{weekday} {day(rows.week.start + dt.timedelta(days=number))}"
        columns.append(
            Stack(
                weekday,
                [("stalled", value, f"{name}: {amount(value)} partition-seconds stalled")],
                before,
                "" if before is None else f"{weekday} of the week before: {amount(before)} partition-seconds stalled",
            )
        )
        data.append((name, amount(value), *([] if before is None else [amount(before)])))
    words = "Partition-seconds stalled by day"
    kinds = [("stalled", "this week"), *([("mark", "the week before (line)")] if rows.has_before else [])]
    heads = ("day (UTC)", "this week", *(["the week before"] if rows.has_before else []))
    picture = stacks(columns, (words, "one column for each day of the week"), width=NARROW, numbers=amount)
    return figure(words, picture, below=legend(kinds), data=(heads, data))


def deploys_by_team(summary: WeeklySummary) -> str:
    """Render the cost of this week's deploys by team."""
    teams = summary.teams
    heads = ["team", "deploys", "stalled", "of its stall"]
    rows = []
    for each in teams[:_ROWS]:
        cost = each.this.deploy_stalled_partition_seconds
        row = [shortened(each.team, 60), f"{each.this.deploys:,}", amount(cost), percent(each.this.deploy_share, 0)]
        rows.append([*row, amount(each.before.deploy_stalled_partition_seconds)] if summary.before else row)
    says = "Partition-seconds stalled in rebalances of deploys, and their share of the stall of these groups."
    heads += ["last week"] if summary.before else []
    words, none = "What deploys cost, by team", "No deploy was detected."
    return _card(words, says, heads, rows, len(teams), "deploys", none=none)


def movers(summary: WeeklySummary, words: str, groups: Sequence[GroupWeeks]) -> str:
    """Render the groups whose stall changed most; return "" if the week before is unknown."""
    if not summary.before:
        return ""
    rows = [
        [
            group_name(summary, group.key),
            amount(group.this.stalled_partition_seconds),
            f"{change_text(group.change)} ({_percent(group)})",
            change_points_text(summary.changes_of(group.key)),
            deploys_text(group),
        ]
        for group in groups
    ]
    says = (
        "Change points: hours in which the stall per rebalance, or the frequency of rebalances, changed to a new "
        "level. Deploys of this week: their number, their share of the group's stall, and the start of the deploy "
        "with the most stall."
    )
    heads = ("consumer group", "stalled", "change", "change points", "deploys")
    return _card(words, says, heads, rows, none=_NO_GROUP, look="words-last words-two")


def _percent(group: GroupWeeks) -> str:
    return change_percent(group.this.stalled_partition_seconds, group.before.stalled_partition_seconds)


def worst_groups(summary: WeeklySummary) -> str:
    """Render both weeks of the groups with the most stall."""
    slo, compared = summary.settings.slo, summary.before is not None
    heads = ["consumer group", "availability", "budget used", "stalled", "rebalances"]
    heads = [part for head in heads for part in ([head, "last week"] if compared and head != heads[0] else [head])]
    rows = []
    for group in [group for group in summary.groups if group.this.stalled_partition_seconds][:_WORST]:
        weeks = [group.this, group.before] if compared else [group.this]
        rows.append(
            [
                group_name(summary, group.key),
                *(availability_text(week) for week in weeks),
                *(budget_text(week, slo) for week in weeks),
                *(amount(week.stalled_partition_seconds) for week in weeks),
                *(f"{week.rebalances:,}" for week in weeks),
            ]
        )
    words, none = "Consumer groups with the most stall", "No partition was stalled."
    says = f"Stalled: partition-seconds (lower bounds). An availability of {percent(slo, 1)} uses the whole budget."
    look = "pairs" if compared else ""
    return _card(words, says, heads, rows, len(summary.groups), "groups", none=none, look=look, wide=True)


def new_flappers(summary: WeeklySummary) -> str:
    """Render the members that began to flap; return "" if the week before is unknown."""
    if not summary.before:
        return ""
    words, none, rows = "Members that began to flap", "No member began to flap.", []
    for each in summary.flappers[:_ROWS]:
        names = ", ".join(shortened(row.name, 40) for row in each.members[:_NAMES])
        names += " …" if len(each.members) > _NAMES else ""
        rows.append([group_name(summary, each.key), f"{len(each.members):,}", f"{each.before:,}", names])
    says = (
        "Members that left and returned repeatedly this week, but not last week. A pod that has a new name after a "
        "deploy counts as a new member."
    )
    heads = ("consumer group", "new", "last week", "members")
    return _card(words, says, heads, rows, len(summary.flappers), "flapping", none=none, look="words-last")


def idle_members(summary: WeeklySummary) -> str:
    """Render the groups whose members had no partition for the longest time."""
    cost = summary.settings.member_cost
    heads = ["consumer group", "member-hours", "of all", *(["cost"] if cost else [])]
    rows = []
    for group in summary.idle[:_ROWS]:
        idle = group.this.idle_member_hours
        row = [group_name(summary, group.key), amount(idle), percent(idle / group.this.member_hours, 0)]
        row += [idle_text(summary, idle)] if cost else []
        rows.append([*row, amount(group.before.idle_member_hours)] if summary.before else row)
    heads += ["hours last week"] if summary.before else []
    at = f" A member costs {cost.text(1)} per hour." if cost else ""
    words, says, none = "Members without a partition", f"Standbys are not counted.{at}", "Every member had partitions."
    return _card(words, says, heads, rows, len(summary.idle), "idle", none=none)


def advice(summary: WeeklySummary) -> str:
    """Render the recommended changes: what each would save, and what those that were taken really save."""
    found = summary.advice
    rows = [
        [
            group_name(summary, row.key),
            shortened(change_words(row), 40),
            state_words(row),
            interval_words(row.predicted, row.predicted_low, row.predicted_high),
            interval_words(row.realised, row.realised_low, row.realised_high),
        ]
        for row in found.rows[:_WORST]
    ]
    says = (
        "Partition-seconds per week, with the 95 % interval in parentheses. Predicted: when the change was "
        "recommended. Saved: measured in up to four weeks before and after the group made the change."
    )
    heads, words = ("consumer group", "change", "state", "predicted", "saved"), "Recommended changes"
    none = "No change was recommended."
    return _card(words, says, heads, rows, len(found.rows), "advice", none=none, look="words", wide=True)


def near_limits(summary: WeeklySummary) -> str:
    """Render groups that waited for a member for much of the rebalance timeout, and groups with a high skew."""
    found = summary.rows
    rows = [
        [
            group_name(summary, (row.cluster_id, row.group)),
            "rebalance timeout",
            f"{rounded_duration(row.waited_seconds)} of {rounded_duration(row.timeout_seconds)}",
            f"{row.rebalances:,} rebalances",
        ]
        for row in found.timeouts[:_LIMITED]
    ]
    rows += [
        [group_name(summary, (row.cluster_id, row.group)), "skew", f"{row.skew_max:.2f}", f"{row.hours:,} h"]
        for row in found.skews[:_LIMITED]
    ]
    says = (
        f"Rebalance timeout: the group waited for a member for at least {percent(TIMEOUT_NEAR, 0)} of this timeout. "
        "When the timeout ends, the coordinator removes the member. Skew: a value above "
        f"{SKEW_NEAR:g} (load of the most loaded member, divided by its share)."
    )
    heads, words, none = ("consumer group", "limit", "highest", "how often"), "Consumer groups near a limit", _NO_GROUP
    number = len(found.timeouts) + len(found.skews)
    return _card(words, says, heads, rows, number, "limits", none=none, look="words", wide=True)


def _card(
    words: str,
    says: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    number: int = 0,
    file: str = "",
    *,
    none: str,
    look: str = "",
    wide: bool = False,
) -> str:
    """Render a table, or the sentence ``none`` if the table has no rows.

    ``number``: the total number of rows; the CSV ``file`` contains the rows that the page does not show.
    """
    if not rows:
        return figure(words, f'<p class="none">{none}</p>', wide=wide)
    cells = table_parts(heads, (map(escaped, row) for row in rows))
    picture = f'<div class="scroll numbers {look}"><table>{cells}</table></div>'
    left = number - len(rows)
    more = f'<p class="none">{left:,} more are in weekly-{file}.csv.</p>' if left > 0 else ""
    return figure(words, picture, says=says, below=more, wide=wide)
