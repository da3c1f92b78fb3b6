"""Weeks are those of ISO 8601 in UTC, and the page is about the last one that is whole."""

from __future__ import annotations

import datetime as dt

import pytest

from rebalance_agent.pipeline.weekly.weeks import Week, last_whole_week, week_until


def monday(year, month, day):
    return Week(dt.datetime(year, month, day, tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("now", "week"),
    [
        (dt.datetime(2026, 6, 15, tzinfo=dt.UTC), monday(2026, 6, 8)),
        (dt.datetime(2026, 6, 14, 23, 59, 59, 999_999, tzinfo=dt.UTC), monday(2026, 6, 1)),
        (dt.datetime(2026, 6, 21, 12, tzinfo=dt.UTC), monday(2026, 6, 8)),
    ],
)
def test_a_week_counts_from_its_end_on(now, week):
    assert last_whole_week(now) == week


@pytest.mark.parametrize(
    ("last_day", "week"),
    [
        (dt.date(2026, 6, 13), monday(2026, 6, 1)),
        (dt.date(2026, 6, 14), monday(2026, 6, 8)),
        (dt.date(2026, 6, 15), monday(2026, 6, 8)),
        (dt.date(2026, 1, 1), monday(2025, 12, 22)),
    ],
)
def test_the_last_day_belongs_to_its_week(last_day, week):
    assert week_until(last_day) == week


@pytest.mark.parametrize(
    ("week", "name", "words"),
    [
        (monday(2026, 6, 8), "2026-W24", "8 to 14 Jun 2026"),
        (monday(2026, 6, 29), "2026-W27", "29 Jun to 5 Jul 2026"),
        (monday(2025, 12, 29), "2026-W01", "29 Dec 2025 to 4 Jan 2026"),
        (monday(2020, 12, 28), "2020-W53", "28 Dec 2020 to 3 Jan 2021"),
    ],
)
def test_a_week_has_the_number_of_iso_8601(week, name, words):
    assert (week.name, week.words) == (name, words)
    assert week.before.end == week.start
