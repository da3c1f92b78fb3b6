"""Writes the weekly page as a short text for mail and chat: one line for each subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rebalance_agent.pipeline.recommendations.advice_words import signed
from rebalance_agent.pipeline.report.all_groups import group_name
from rebalance_agent.pipeline.weekly.weekly_rows import GroupWeeks, WeekTotals
from rebalance_agent.pipeline.weekly.weekly_summary import WeeklySummary
from rebalance_agent.pipeline.weekly.weekly_words import (
    availability_text,
    both_weeks,
    budget_text,
    change_percent,
    change_text,
    idle_text,
)
from rebalance_agent.ui.words import amount, duration, percent, plural, printable, shortened

__all__ = ["text"]

_SHOWN = 3
"""Maximum number of teams, of groups with flapping or idle members, and of groups near a limit in a line."""

_SAVING = "partition-seconds per week"

_NAME_CHARACTERS_MAX = 60


def text(summary: WeeklySummary) -> str:
    """Return the text, of at most 15 lines; a line about a subject that did not occur is left out.

    No-break spaces become plain spaces, and control characters in names become escapes.
    """
    lines = [line for part in (_head, _movers, _teams, _members, _limits, _advice) for line in part(summary)]
    return "\n".join(printable(line.replace("\u00a0", " ")) for line in lines) + "\n"


def _head(summary: WeeklySummary) -> Iterator[str]:
    week, slo = summary.rows.week, summary.settings.slo
    before = "; in parentheses the week before" if summary.before else ""
    yield f"Rebalances in week {week.name}, {week.words} (UTC{before})"
    yield from summary.notes
    used = both_weeks(summary, lambda totals: budget_text(totals, slo))
    yield (
        f"Availability of partitions: {both_weeks(summary, availability_text)}; "
        f"stall budget used: {used} (objective {100 * slo:g} %)"
    )
    stalled = both_weeks(summary, lambda totals: amount(totals.stalled_partition_seconds))
    rebalances = both_weeks(summary, lambda totals: f"{totals.rebalances:,}")
    yield f"Partition-seconds stalled: {stalled}; rebalances: {rebalances}"


def _movers(summary: WeeklySummary) -> Iterator[str]:
    for word, groups in (("More", summary.up), ("Fewer", summary.down)):
        if groups:
            moved = ", ".join(_mover(summary, group) for group in groups)
            yield f"{word} partition-seconds stalled than in the week before: {moved}"


def _mover(summary: WeeklySummary, group: GroupWeeks) -> str:
    change = change_percent(group.this.stalled_partition_seconds, group.before.stalled_partition_seconds)
    deploys = f"; {plural(group.this.deploys, 'deploy')}" if group.this.deploys else ""
    return f"{_name(summary, group.key)} {change_text(group.change)} ({change}{deploys})"


def _teams(summary: WeeklySummary) -> Iterator[str]:
    if not summary.teams:
        return
    teams = [
        f"{shortened(each.team, _NAME_CHARACTERS_MAX)} {_deploys(each.this)}"
        for each in summary.teams
        if each.this.deploys
    ]
    share = f", {percent(summary.this.deploy_share, 0)} of this week's stalls" if summary.this.deploys else ""
    by_team = f"; by team: {_first(teams)}" if teams else ""
    yield f"Partition-seconds stalled in deploys: {both_weeks(summary, _deploys)}{share}{by_team}"


def _deploys(totals: WeekTotals) -> str:
    return f"{amount(totals.deploy_stalled_partition_seconds)} in {plural(totals.deploys, 'deploy')}"


def _members(summary: WeeklySummary) -> Iterator[str]:
    if summary.flappers:
        number = sum(len(each.members) for each in summary.flappers)
        groups = [f"{_name(summary, each.key)} ({len(each.members):,})" for each in summary.flappers]
        yield f"Members that began to flap: {number:,}, in {_first(groups)}"
    if summary.idle:
        groups = [
            f"{_name(summary, group.key)} {idle_text(summary, group.this.idle_member_hours)}" for group in summary.idle
        ]
        idle = summary.this.idle_member_hours
        cost = f", costs {idle_text(summary, idle)}" if summary.settings.member_cost else ""
        hours = both_weeks(summary, lambda totals: f"{amount(totals.idle_member_hours)} h")
        yield f"Members without a partition: {hours}{cost}; most: {_first(groups)}"


def _limits(summary: WeeklySummary) -> Iterator[str]:
    rows = summary.rows
    if rows.timeouts:
        waits = [
            f"{_name(summary, (row.cluster_id, row.group))} "
            f"{duration(row.waited_seconds)} of {duration(row.timeout_seconds)}"
            for row in rows.timeouts
        ]
        yield f"Waits near the rebalance timeout: {_first(waits)}"
    if rows.skews:
        skews = [f"{_name(summary, (row.cluster_id, row.group))} {row.skew_max:.2f}" for row in rows.skews]
        yield f"Skewed assignments (1 is best): {_first(skews)}"


def _advice(summary: WeeklySummary) -> Iterator[str]:
    found = summary.advice
    taken, waiting, withheld = found.taken, found.open, found.withheld
    parts = []
    if taken.number:
        savings = [f"saved {signed(taken.realised)} {_SAVING}"] if taken.measured else []
        savings += [f"predicted {signed(taken.predicted_of_measured)}"] if taken.predicted_of_measured else []
        parts.append(f"{taken.number:,} made" + (f" ({', '.join(savings)})" if savings else ""))
    if waiting.number:
        parts.append(f"{waiting.number:,} not made yet (would save {amount(waiting.predicted)} {_SAVING})")
    if found.ignored.number:
        would_save = f"would save {amount(found.ignored.predicted)} {_SAVING}"
        parts.append(f"{found.ignored.number:,} not made in four weeks ({would_save})")
    if withheld.number:
        parts.append(f"{withheld.number:,} no longer recommended")
    if parts:
        yield f"Recommended changes: {'; '.join(parts)}"


def _name(summary: WeeklySummary, key: tuple[str, str]) -> str:
    return shortened(group_name(summary, key), _NAME_CHARACTERS_MAX)


def _first(parts: Iterable[str]) -> str:
    listed = list(parts)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
