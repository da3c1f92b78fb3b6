"""Values of counts have the variance that the search for changes assumes, without the weekly pattern."""

from __future__ import annotations

import numpy as np
import pytest

from rebalance_agent.pipeline.changes.daily_counts import VARIANCE, CountHistory, count_values

DAYS = 28


@pytest.mark.parametrize("mean", [3, 30])
@pytest.mark.parametrize("spread", [0, 0.2], ids=["Poisson", "negative binomial"])
def test_the_variance_is_known_whatever_the_mean(mean, spread):
    rng = np.random.default_rng(1)
    means = mean * (rng.gamma(1 / spread, spread, (500, DAYS)) if spread else np.ones((500, DAYS)))
    values = count_values(rng.poisson(means).astype(float), 0)
    assert values.var(axis=1).mean() == pytest.approx(VARIANCE, rel=0.25)


def test_a_change_of_level_adds_little_to_the_spread():
    """Without any spread, the difference would be that of the square roots."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(np.where(np.arange(DAYS) < 14, 5, 15), (300, DAYS)).astype(float)
    values = count_values(counts, 0)
    difference = values[:, 14:].mean(axis=1) - values[:, :14].mean(axis=1)
    assert np.median(difference) == pytest.approx(np.sqrt(15) - np.sqrt(5), rel=0.15)


@pytest.mark.parametrize("quiet", [(2, 3), (4, 5)], ids=["Saturday and Sunday", "two other days"])
def test_the_weekly_pattern_is_removed(quiet):
    """The first day, 1970-01-01, was a Thursday."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.where(np.isin(np.arange(DAYS) % 7, quiet), 4, 20), (300, DAYS)).astype(float)
    assert count_values(counts, 0).var(axis=1).mean() < 2 * VARIANCE


def test_random_counts_have_the_level_of_the_part_and_the_weekly_pattern():
    rng = np.random.default_rng(4)
    weekly = np.where(np.arange(DAYS) % 7 > 4, 10, 40)
    counts = (weekly * np.where(np.arange(DAYS) < 14, 1, 3)).astype(float)
    drawn = CountHistory(4, counts).drawn(slice(14, 28), 2_000, rng).mean(axis=0)
    assert drawn[14:].mean() == pytest.approx(counts[14:].mean(), rel=0.05)
    assert drawn[5] < drawn[4] / 2


def test_a_history_without_days_has_no_values():
    assert CountHistory(0, np.empty(0)).values().tolist() == []
