"""Computes what the weekly page shows from its rows: both weeks, movers, teams, new flappers, idle members, limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebalance_agent.pipeline.report.report_rows import GroupKey
from rebalance_agent.pipeline.weekly.week_advice import AdviceWeek, advice_week
from rebalance_agent.pipeline.weekly.week_settings import WeekSettings
from rebalance_agent.pipeline.weekly.weekly_rows import FlapperRow, GroupWeeks, WeekChange, WeeklyRows, WeekTotals
from rebalance_agent.ui.words import minute

__all__ = ["IDLE_HOURS_MIN", "MOVERS", "GroupFlappers", "TeamWeeks", "WeeklySummary", "summarize"]

MOVERS = 5
"""Maximum number of listed groups whose stall rose most, and of listed groups whose stall fell most."""

IDLE_HOURS_MIN = 0.1
"""Minimum member-hours without a partition for listing a group; every new member waits for its first rebalance."""


@dataclass(frozen=True, slots=True)
class TeamWeeks:
    """The deploys of a team's groups in both weeks. ``groups``: number of the team's groups with deploys this week."""

    team: str
    groups: int
    this: WeekTotals
    before: WeekTotals


@dataclass(frozen=True, slots=True)
class GroupFlappers:
    """Members of a group that flap this week but did not flap the week before, the most hours first.

    ``before``: number of the group's members that flapped the week before, since pods get new names with each deploy.
    """

    key: GroupKey
    members: tuple[FlapperRow, ...]
    before: int


@dataclass(frozen=True)
class WeeklySummary:
    """The content of page, text and CSV files. ``before`` and all comparisons are empty if that week is unknown.

    ``groups``: all groups, the most stalled groups first. ``notes``: sentences on how the weeks are incomplete.
    """

    rows: WeeklyRows
    settings: WeekSettings
    this: WeekTotals
    before: WeekTotals | None
    groups: tuple[GroupWeeks, ...]
    up: tuple[GroupWeeks, ...]
    down: tuple[GroupWeeks, ...]
    teams: tuple[TeamWeeks, ...]
    flappers: tuple[GroupFlappers, ...]
    idle: tuple[GroupWeeks, ...]
    advice: AdviceWeek
    notes: tuple[str, ...]

    def changes_of(self, key: GroupKey) -> Sequence[WeekChange]:
        """Return the change points of a group in this week, in order."""
        return sorted(
            (each for each in self.rows.changes if each.key == key), key=lambda each: (each.changed_at, each.signal)
        )

    @property
    def clusters(self) -> Sequence[str]:
        """Return the ids of the groups' clusters, in order."""
        return self.rows.clusters


def summarize(rows: WeeklyRows, settings: WeekSettings) -> WeeklySummary:
    """Return the content of the page for these rows."""
    compared = rows.has_before
    moved = sorted(rows.groups, key=lambda group: (-group.change, group.key)) if compared else []
    falling = sorted(moved, key=lambda group: (group.change, group.key))
    idle = [group for group in rows.groups if group.this.idle_member_hours >= IDLE_HOURS_MIN]
    return WeeklySummary(
        rows=rows,
        settings=settings,
        this=WeekTotals.sum(group.this for group in rows.groups),
        before=WeekTotals.sum(group.before for group in rows.groups) if compared else None,
        groups=tuple(sorted(rows.groups, key=lambda group: (-group.this.stalled_partition_seconds, group.key))),
        up=tuple(group for group in moved[:MOVERS] if group.change > 0),
        down=tuple(group for group in falling[:MOVERS] if group.change < 0),
        teams=tuple(_teams(rows.groups, settings)),
        flappers=tuple(_new_flappers(rows.flappers)) if compared else (),
        idle=tuple(sorted(idle, key=lambda group: (-group.this.idle_member_hours, group.key))),
        advice=advice_week(rows.advice),
        notes=tuple(_notes(rows)),
    )


def _teams(groups: Iterable[GroupWeeks], settings: WeekSettings) -> list[TeamWeeks]:
    """Return the teams with deploys in one of the weeks; teams with the most stall in this week's deploys are first."""
    by_team: dict[str, list[GroupWeeks]] = defaultdict(list)
    for group in groups:
        if group.this.deploys or group.before.deploys:
            by_team[settings.team_of(group.group)].append(group)
    teams = [
        TeamWeeks(
            team,
            sum(bool(group.this.deploys) for group in members),
            WeekTotals.sum(group.this for group in members),
            WeekTotals.sum(group.before for group in members),
        )
        for team, members in by_team.items()
    ]
    return sorted(teams, key=lambda each: (-each.this.deploy_stalled_partition_seconds, each.team))


def _new_flappers(flappers: Iterable[FlapperRow]) -> list[GroupFlappers]:
    """Return groups with new flapping members: first groups that had none before, then by the number of members."""
    by_group: dict[GroupKey, list[FlapperRow]] = defaultdict(list)
    for row in flappers:
        by_group[row.cluster_id, row.group].append(row)
    found = []
    for key, members in by_group.items():
        new = sorted(
            (row for row in members if row.hours and not row.hours_before), key=lambda row: (-row.hours, row.name)
        )
        if new:
            found.append(GroupFlappers(key, tuple(new), sum(bool(row.hours_before) for row in members)))
    return sorted(found, key=lambda each: (each.before > 0, -len(each.members), each.key))


def _notes(rows: WeeklyRows) -> list[str]:
    notes = []
    if not rows.has_before:
        notes.append("The tables have no data for the week before, so there is no comparison.")
    elif rows.first > rows.week.before.start:
        notes.append(f"The week before is incomplete: the tables begin at {minute(rows.first)} UTC.")
    if rows.first > rows.week.start:
        notes.append(f"This week is incomplete: the tables begin at {minute(rows.first)} UTC.")
    if rows.end < rows.week.end:
        notes.append(f"This week is incomplete: the tables end at {minute(rows.end)} UTC.")
    return notes
