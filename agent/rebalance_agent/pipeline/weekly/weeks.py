"""Defines ISO 8601 weeks, from Monday, 00:00 UTC, to the next Monday."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from rebalance_agent.ui.words import day

__all__ = ["Week", "last_whole_week", "week_until"]

_LENGTH = dt.timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Week:
    """A whole week; ``start`` is Monday, 00:00 UTC."""

    start: dt.datetime

    @property
    def end(self) -> dt.datetime:
        """Return the start of the next week."""
        return self.start + _LENGTH

    @property
    def before(self) -> Week:
        """Return the previous week."""
        return Week(self.start - _LENGTH)

    @property
    def name(self) -> str:
        """Return year and number of the week as in ISO 8601: ``2026-W24``."""
        year, number, _ = self.start.isocalendar()
        return f"{year}-W{number:02}"

    @property
    def words(self) -> str:
        """Return the first and the last day: ``8 to 14 Jun 2026``."""
        last = self.end - dt.timedelta(days=1)
        if self.start.year != last.year:
            return f"{day(self.start)} {self.start.year} to {day(last)} {last.year}"
        first = f"{self.start.day}" if self.start.month == last.month else day(self.start)
        return f"{first} to {day(last)} {last.year}"


def last_whole_week(now: dt.datetime) -> Week:
    """Return the last week that ended at or before ``now``, which is in UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return Week(midnight - dt.timedelta(days=midnight.weekday()) - _LENGTH)


def week_until(last_day: dt.date) -> Week:
    """Return the last week that had ended by the end of ``last_day``."""
    return last_whole_week(dt.datetime.combine(last_day + dt.timedelta(days=1), dt.time(), dt.UTC))
