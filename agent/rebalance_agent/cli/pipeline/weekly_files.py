"""Defines the flags of the weekly page, and returns its files: page, text and CSV."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Mapping
from pathlib import PurePath

from rebalance_agent.cli.command_parser import number
from rebalance_agent.cli.output_flag import as_csv
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.weekly.week_settings import SLO, TEAM_RULE, WeekSettings, member_cost, team_rule
from rebalance_agent.pipeline.weekly.weekly_csv import csv_tables
from rebalance_agent.pipeline.weekly.weekly_page import page
from rebalance_agent.pipeline.weekly.weekly_summary import WeeklySummary
from rebalance_agent.pipeline.weekly.weekly_text import text
from rebalance_agent.pipeline.weekly.weeks import Week, last_whole_week, week_until

__all__ = ["add_weekly_flags", "refuse_weekly_flags", "week_of", "week_settings", "weekly_files"]

_FLAGS = ("until", "slo", "team_rule", "member_cost")
_YEARS = (1971, 9998)
"""First and last year of a day; Spark and Python can represent the weeks around any day in these years."""


def add_weekly_flags(parser: argparse.ArgumentParser) -> None:
    """Add ``--weekly`` and the flags that belong to it."""
    weekly = parser.add_argument_group("The weekly page")
    weekly.add_argument(
        "--weekly",
        action="store_true",
        help="compare a week with the week before, and write an HTML page, a text file and CSV files",
    )
    weekly.add_argument(
        "--until",
        type=_last_day,
        metavar="DAY",
        help="report the last complete week (Monday to Sunday, UTC) up to and including this day, such as 2026-06-14; "
        "default: the last complete week",
    )
    weekly.add_argument(
        "--slo",
        type=number(0, 0.999999, "a share from 0 to 0.999999, such as 0.995"),
        metavar="SHARE",
        help=f"availability objective, which determines the stall budget (default {SLO})",
    )
    weekly.add_argument(
        "--team-rule",
        metavar="REGEX",
        help="regular expression that finds the team in the name of a consumer group: its capture group matches the "
        f"team (default {TEAM_RULE}, the name up to the first - or .)",
    )
    weekly.add_argument(
        "--member-cost",
        metavar="AMOUNT",
        help="cost of one member per hour, such as 0.12EUR; members without a partition are then shown in money "
        "instead of hours",
    )


def refuse_weekly_flags(options: argparse.Namespace) -> None:
    """Raise `InvalidInputError` for a flag that needs ``--weekly``."""
    for name in _FLAGS:
        if getattr(options, name) is not None:
            raise InvalidInputError(f"--{name.replace('_', '-')}", "needs --weekly")


def week_settings(options: argparse.Namespace) -> WeekSettings:
    """Return the settings of the page from its flags.

    Raises:
        InvalidInputError: a flag has a wrong value, or belongs to the report of all time.
    """
    if options.details is not None:
        raise InvalidInputError("--details", "cannot be combined with --weekly")
    if PurePath(options.out).suffix in (".html", ".txt", ".csv"):
        raise InvalidInputError("--out", f"must be a folder with --weekly, which writes several files: {options.out}")
    return WeekSettings(
        slo=SLO if options.slo is None else options.slo,
        team_rule=team_rule(TEAM_RULE if options.team_rule is None else options.team_rule),
        member_cost=None if options.member_cost is None else member_cost(options.member_cost),
    )


def week_of(options: argparse.Namespace, now: dt.datetime) -> Week:
    """Return the last week that ended by the end of the day ``--until``; without this flag, by ``now``."""
    return week_until(options.until) if options.until else last_whole_week(now)


def weekly_files(summary: WeeklySummary) -> Mapping[str, bytes]:
    """Return the content of each file by the file's name; the names are the same every week."""
    tables = {
        f"weekly-{name}.csv": f"{as_csv(table.columns, table.rows)}\n" for name, table in csv_tables(summary).items()
    }
    files = {**tables, "weekly.txt": text(summary), "weekly.html": page(summary)}
    return {name: content.encode() for name, content in files.items()}


def _last_day(text: str) -> dt.date:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or not _YEARS[0] <= day.year <= _YEARS[1]:
        raise argparse.ArgumentTypeError("must be a day such as 2026-06-14")
    return day
