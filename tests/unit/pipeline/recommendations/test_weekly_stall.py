"""The intervals of the stall per week contain the true value about as often as they promise."""

from __future__ import annotations

import random

import pytest

from rebalance_agent.pipeline.recommendations.weekly_stall import STALLED_DAYS_MIN, saving, weekly_stall

ROUNDS = 300
MEAN = 10.0


def stalls(rng, rate, days, weekend=1.0, burst=1):
    """Daily sums: causes at a rate per day, each with up to ``burst`` rebalances of exponential stall."""
    sums = []
    for day in range(days):
        total, elapsed = 0.0, rng.expovariate(rate * (weekend if day % 7 >= 5 else 1))
        while elapsed < 1:
            total += sum(rng.expovariate(1 / MEAN) for _ in range(rng.randint(1, burst)))
            elapsed += rng.expovariate(rate * (weekend if day % 7 >= 5 else 1))
        sums.append(total)
    return sums


@pytest.mark.parametrize("days", [14, 28])
@pytest.mark.parametrize("rate", [0.7, 3, 20])
@pytest.mark.parametrize(("weekend", "burst"), [(1.0, 1), (0.2, 8)])
def test_the_intervals_contain_the_true_saving(days, rate, weekend, burst):
    rng = random.Random(f"{days} {rate} {weekend} {burst}")
    true = rate * MEAN * (1 + burst) / 2 * (5 + 2 * weekend) / 2
    kept = predicted = missed = rounds = 0
    for _ in range(ROUNDS):
        before, after = (stalls(rng, each, days, weekend, burst) for each in (rate, rate / 2))
        saved, week = saving(before, after), weekly_stall(before)
        if saved is None or week is None:
            continue
        rounds += 1
        kept += saved.low <= true <= saved.high
        predicted += week.low <= 2 * true <= week.high
        missed += saved.high < week.times(0.5).low
    assert rounds > ROUNDS / 3
    assert kept >= 0.91 * rounds
    assert predicted >= 0.89 * rounds
    assert missed <= 0.01 * rounds


def test_a_change_that_saved_nothing_is_not_taken_for_one_that_did():
    rng = random.Random(3)
    found = [saving(stalls(rng, 3, 28), stalls(rng, 3, 28)) for _ in range(ROUNDS)]
    assert sum(each is not None and each.low > 0 for each in found) <= 0.05 * ROUNDS


def test_a_group_that_stalls_no_longer_saved_all_of_it():
    before = [0.0, 12.0, 9.0, 11.0, 10.0, 14.0, 0.0]
    saved = saving(before, [0.0] * 7)
    assert saved is not None
    assert saved.value == sum(before)
    assert 0 < saved.low < saved.value < saved.high
    assert saved.times(0.5).high == saved.high / 2


def test_too_few_days_with_stall_give_no_interval():
    before = [0.0, 0.0, 0.0, *([9.0] * (STALLED_DAYS_MIN - 1))]
    assert weekly_stall(before) is None
    assert saving(before, [9.0] * 7) is None
    assert weekly_stall([*before, 9.0]) is not None


def test_equal_days_have_a_narrow_interval():
    week = weekly_stall([5.0] * 28)
    assert week is not None
    assert (week.value, week.low) == (35.0, 35.0)
    assert 35.0 < week.high < 40.0
