"""Changes are found at their hour and with their levels; nothing is found in groups without any."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rebalance_agent.pipeline.changes.change_points import change_points
from rebalance_agent.pipeline.changes.group_signals import Signal, hours_of

HOUR_MS = 3_600_000
HOURS = 28 * 24


def group(*, stall=lambda _: 1.0, skew=lambda _: 1.0, frequency=lambda _: 1.0, per_day=12, seed=1):
    """Four weeks of a group; each signal is multiplied by its function of the hour."""
    rng = np.random.default_rng(seed)
    load = [1 + 0.6 * math.sin(math.tau * hour / 24) - (0.4 if hour // 24 % 7 > 4 else 0) for hour in range(HOURS)]
    counts = rng.poisson([per_day / 24 * load[hour] * frequency(hour) for hour in range(HOURS)])
    hours = np.repeat(np.arange(HOURS), counts)
    stalls = 2 * np.exp(rng.normal(0, 0.4, len(hours))) * [stall(hour) for hour in hours]
    skews = (1 + rng.random(len(hours)) / 10) * [skew(hour) for hour in hours]
    at_ms = np.sort(hours * HOUR_MS + rng.integers(0, HOUR_MS, len(hours)))
    return hours_of(at_ms, np.full(len(hours), "member_left", object), stalls, skews, 0, HOURS - 1)


def since(hour, size):
    return lambda at: size if at >= hour else 1.0


@pytest.mark.parametrize("name", ["stall", "skew", "frequency"])
def test_a_change_is_found_with_its_hour_and_levels(name):
    signal = Signal(name)
    hours = group(**{name: since(400, 2.0)})
    (found,) = change_points(hours, signal, "g").changes
    assert abs(found.hour - 400) <= (24 if signal is Signal.FREQUENCY else 6)
    assert found.ratio == pytest.approx(2, rel=0.25)
    usual = {Signal.STALL: 2, Signal.SKEW: 1.05, Signal.FREQUENCY: 10}[signal]
    assert found.before == pytest.approx(usual, rel=0.25)
    assert found.chance < 1e-4
    assert not found.recovery
    assert [change_points(hours, other, "g").changes for other in Signal if other is not signal] == [(), ()]


def test_a_recovery_is_a_change_to_the_level_before():
    def bad(hour):
        return 3.0 if 250 <= hour < 450 else 1.0

    worse, better = change_points(group(stall=bad), Signal.STALL, "g").changes
    assert (worse.recovery, better.recovery) == (False, True)
    assert [abs(worse.hour - 250) <= 6, abs(better.hour - 450) <= 6] == [True, True]
    assert worse.before == pytest.approx(better.after, rel=0.25)


@pytest.mark.parametrize("seed", range(3))
def test_daily_and_weekly_load_is_no_change(seed):
    found = [change_points(group(seed=seed), signal, "g") for signal in Signal]
    assert [each.changes for each in found] == [(), (), ()]
    assert sum(each.tests for each in found) == 3


def test_a_small_change_is_not_worth_a_row():
    assert change_points(group(stall=since(336, 1.15), per_day=200), Signal.STALL, "g").changes == ()


def test_stalls_that_are_only_rounding_errors_make_no_change():
    """The ratio of two levels of 5e-324 s is 1 although the mean of the logarithms differs."""
    hours = np.arange(HOURS)
    stalls = np.where((hours >= 14 * 24) & (hours % 2 == 0), 1e-323, 5e-324)
    made = hours_of(hours * HOUR_MS, np.full(HOURS, "member_left", object), stalls, np.ones(HOURS), 0, HOURS - 1)
    assert change_points(made, Signal.STALL, "g").changes == ()


def test_few_rebalances_make_no_test():
    assert change_points(group(per_day=0.05), Signal.STALL, "g").tests == 0
