"""The span that differs most is that of a brute-force search; without a change its probability is seldom small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.pipeline.changes.daily_counts import CountHistory
from rebalance_agent.pipeline.changes.scan import DAYS_MIN, Days, best_span, chance_of_span


def days(values, weights=None):
    values = np.array(values, dtype=float)
    ones = np.ones(len(values)) if weights is None else np.array(weights, dtype=float)
    return Days(np.arange(len(values)), values, ones)


def by_brute_force(series):
    """The highest statistic, from the squared deviations themselves."""

    def squares(*parts):
        values, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "weights"))
        return float((weights * (values - np.average(values, weights=weights)) ** 2).sum())

    number = len(series.values)
    found = []
    for begin in range(DAYS_MIN, number):
        for end in range(begin + DAYS_MIN, number + 1):
            if end == number or number - end >= DAYS_MIN:
                inside = series.between(begin, end)
                outside = (series.between(0, begin), series.between(end, number))
                gain = number / 2 * math.log(squares(series) / (squares(inside) + squares(*outside)))
                found.append(gain - (1.5 * math.log(number) if end < number else 0))
    return max(found, default=None)


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.floats(0.5, 5)), min_size=2 * DAYS_MIN, max_size=14).filter(
        lambda pairs: len({value for value, _ in pairs}) > 3
    )
)
@settings(max_examples=60, deadline=None)
def test_the_statistic_is_that_of_a_search_through_all_spans(pairs):
    series = days(*zip(*pairs, strict=True))
    assert best_span(series).statistic == pytest.approx(by_brute_force(series), rel=1e-6, abs=1e-9)


def test_a_step_is_one_change_and_a_step_back_another():
    noise = np.random.default_rng(1).normal(size=28)
    step = best_span(days(noise + 4 * (np.arange(28) >= 12)))
    assert (step.begin, step.end) == (12, 28)
    hill = best_span(days(noise + 4 * ((np.arange(28) >= 9) & (np.arange(28) < 17))))
    assert (hill.begin, hill.end) == (9, 17)


@pytest.mark.parametrize("series", [days([]), days([1, 2, 3, 1, 2]), days([3.0] * 20)], ids=["none", "few", "equal"])
def test_too_few_or_equal_days_have_no_span(series):
    assert best_span(series) is None


@pytest.mark.parametrize("number", [9, 28], ids=["random days", "permuted days"])
def test_of_series_without_a_change_few_are_improbable(number):
    rng = np.random.default_rng(3)
    chances = []
    for seed in range(100):
        series = days(rng.normal(size=number))
        chances.append(chance_of_span(series, best_span(series), seed))
    assert 0.02 < np.mean(np.array(chances) <= 0.1) <= 0.2
    assert min(chances) > 1e-4


def test_a_large_step_is_very_improbable_and_a_quiet_weekend_is_not():
    rng = np.random.default_rng(4)
    step = days(rng.normal(size=28) + 6 * (np.arange(28) >= 14))
    assert chance_of_span(step, best_span(step), 1) < 1e-6
    weekly = days(rng.normal(size=28) - 6 * (np.arange(28) % 7 >= 5))
    assert chance_of_span(weekly, best_span(weekly), 1) > 0.01


def test_one_extreme_day_is_no_change():
    values = np.random.default_rng(5).normal(size=28)
    values[20] = 40
    series = days(values)
    assert chance_of_span(series, best_span(series), 1) > 0.1


def counted(counts):
    history = CountHistory(0, np.array(counts, dtype=float))
    return Days(np.arange(len(counts)), history.values(), np.ones(len(counts)), history)


def test_few_counts_are_sufficient_for_a_large_change():
    """The variance of a count is known, so the chance is smaller than that of permuted days."""
    series = counted([1, 0, 2, 1, 1, 0, 0, 1, 2, 0, 1, 1, 0, 1, 3, 4, 2, 5, 4, 2, 3, 4, 5, 3, 3, 4, 2, 4])
    assert chance_of_span(series, best_span(series), 1) < 1e-4


def test_counts_without_a_change_are_seldom_improbable():
    rng = np.random.default_rng(6)
    chances = []
    for seed in range(100):
        series = counted(rng.poisson(np.where(np.arange(28) % 7 > 4, 3, 9)))
        chances.append(chance_of_span(series, best_span(series), seed))
    assert 0.02 < np.mean(np.array(chances) <= 0.1) <= 0.2
    assert min(chances) > 1e-4


def test_a_few_extreme_counts_are_no_change():
    counts = np.random.default_rng(7).poisson(1, 28)
    counts[14:16] = (60, 40)
    series = counted(counts)
    assert chance_of_span(series, best_span(series), 1) > 0.01
