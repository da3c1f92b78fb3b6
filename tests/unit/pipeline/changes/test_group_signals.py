"""Rebalances of a group as hours, and these as the daily values of its signals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rebalance_agent.pipeline.changes.group_signals import Signal, days_of, hours_of

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def made(rows, days=4):
    """The hours of rebalances: (epoch milliseconds, trigger, stall, skew)."""
    at_ms, triggers, stalls, skews = zip(*rows, strict=True)
    return hours_of(
        np.array(at_ms), np.array(triggers, object), np.array(stalls, float), np.array(skews, float), 0, days * 24 - 1
    )


def at(*moments):
    return [(moment, "member_left", 1, 1) for moment in moments]


def occasions(hours, day=0):
    """The occasions of a day, before the division by the share of the day in which an occasion can begin."""
    return hours.occasions[hours.hours // 24 == day].sum()


def test_a_series_of_rebalances_is_one_occasion():
    deploy = [index * MINUTE_MS for index in range(20)]
    assert occasions(made(at(*deploy))) == pytest.approx(1 / (1 - 29 / 1440))
    assert occasions(made(at(0, 10 * MINUTE_MS, 20 * MINUTE_MS))) == pytest.approx(3 / (1 - 30 / 1440))


def test_rebalances_without_a_pause_are_an_occasion_each_hour():
    endless = made(at(*(index * 5 * MINUTE_MS for index in range(24 * 12))))
    assert occasions(endless) == 24 / 0.25
    assert len(endless.hours) == 24


def test_twice_the_rebalances_of_a_busy_group_are_twice_the_occasions():
    """Rebalances that hit a series are not counted, so their number alone would grow by half only."""
    rng = np.random.default_rng(1)
    per_day = [
        made(at(*np.sort(rng.integers(0, 28 * DAY_MS, 28 * number))), 28).occasions.sum() for number in (50, 100)
    ]
    assert per_day[1] / per_day[0] == pytest.approx(2, rel=0.05)


def test_stalls_of_a_trigger_that_vary_less_have_more_weight():
    rng = np.random.default_rng(2)
    rows = []
    for hour in range(0, 28 * 24, 6):
        rows.append((hour * HOUR_MS, "member_failed", 45 * rng.uniform(0.9, 1.1), 1))
        rows.append((hour * HOUR_MS + 1, "member_left", math.exp(rng.normal(0, 0.6)), 1))
    both = made(rows, 28)
    failed = made([row for row in rows if row[1] == "member_failed"] + [(28 * DAY_MS - 1, "member_left", 1, 1)], 28)
    assert both.stall_weights.sum() == pytest.approx(both.stalls.sum())
    assert np.std(days_of(both, Signal.STALL).values) < 2 * np.std(days_of(failed, Signal.STALL).values[:-1])


def test_a_stall_is_compared_with_those_of_the_same_trigger():
    rows = [(day * DAY_MS, "member_left", 2 if day < 3 else 4, math.nan) for day in range(4)]
    rows += [(day * DAY_MS + HOUR_MS, "member_failed", 30, 1.5) for day in range(4)]
    found = days_of(made(rows), Signal.STALL)
    assert found.days.tolist() == [0, 1, 2, 3]
    assert found.values.tolist() == pytest.approx([0, 0, 0, math.log(2) / 2])
    assert days_of(made(rows), Signal.SKEW).values.tolist() == pytest.approx([math.log(1.5)] * 4)


def test_stalls_of_nothing_and_unknown_ones_are_left_out():
    hours = made([(0, "member_left", 0, 1), (1, "member_left", math.nan, 1), (2, "member_left", 3, math.nan)])
    assert (hours.stalls.sum(), hours.skews.sum()) == (1, 2)


def test_the_frequency_has_every_whole_day():
    hours = made(at(0, DAY_MS + HOUR_MS))
    days = days_of(hours._replace(first=5, last=4 * 24), Signal.FREQUENCY)
    assert days.days.tolist() == [1, 2, 3]
    assert days.values[0] > days.values[1] == days.values[2]


def test_a_weekly_pattern_is_removed_from_the_frequency():
    rows = [day * DAY_MS + number * HOUR_MS for day in range(28) for number in range(2 if day % 7 > 4 else 12)]
    values = days_of(made(at(*rows), 28), Signal.FREQUENCY).values
    assert np.ptp(values) < 0.5
