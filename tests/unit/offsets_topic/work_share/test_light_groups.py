"""Groups that cause little work come first, and any number of them leave time for others."""

from __future__ import annotations

from rebalance_agent.offsets_topic.work_share.work_budget import (
    BURST_S,
    BUSY_RATE,
    LIGHT_S,
    NEW_S,
    QUIET_BYTES,
    QUIET_RATE,
    WorkBudget,
)

ORDINARY_S, MEDIUM_S = 0.006, 0.045


def _budget(*groups):
    budget = WorkBudget(0.0)
    for group in groups:
        budget.know(group, 0.0)
    return budget


def _ahead(budget, group, size, seconds, now):
    """Process a record of the group before others, if it is light; return whether it is."""
    light = budget.light(group, size, now)
    if light:
        budget.spend_ahead(group, size, now)
    budget.spend(group, size, seconds, now)
    return light


def test_an_ordinary_group_is_always_light():
    budget = _budget(b"orders")
    assert all(_ahead(budget, b"orders", 2_000, ORDINARY_S, 10.0 * number) for number in range(500))


def test_many_groups_with_medium_records_are_light_only_within_the_limit_of_all():
    groups = [b"hostile %d" % number for number in range(100)]
    budget, work, seconds = _budget(b"orders", *groups), 0.0, 60
    for step in range(seconds):
        for group in groups:
            work += MEDIUM_S * _ahead(budget, group, 10_000, MEDIUM_S, float(step))
        if step % 10 == 9:
            assert _ahead(budget, b"orders", 2_000, ORDINARY_S, float(step)), "it is quiet"
    assert 0 < work <= BURST_S + BUSY_RATE * seconds + 0.1


def test_records_with_much_work_leave_time_for_a_group_that_rebalances_often():
    groups = [b"hostile %d" % number for number in range(100)]
    budget = _budget(b"orders", *groups)
    for number in range(3_000):
        now = number / 50
        _ahead(budget, groups[number % 100], 10_000, MEDIUM_S, now)
        if number > 50 and number % 15 == 0:
            assert _ahead(budget, b"orders", 5_000, ORDINARY_S, now), "three rebalances a second"


def test_small_records_of_many_groups_are_light_at_the_rate_of_quiet_groups():
    groups = [b"hostile %d" % number for number in range(100)]
    budget, work, seconds = _budget(*groups), 0.0, 120
    for step in range(seconds):
        for group in groups:
            work += 0.02 * _ahead(budget, group, QUIET_BYTES, 0.02, float(step))
    quiet = len(groups) * (LIGHT_S + 0.02 + QUIET_RATE * seconds)
    assert work <= quiet + BURST_S + BUSY_RATE * seconds


def test_a_group_is_quiet_again_after_three_minutes():
    budget = _budget(b"large")
    budget.spend(b"large", 1_000_000, 10.0, 0.0)
    later = (BURST_S - LIGHT_S) / QUIET_RATE + NEW_S
    budget._all_busy.left, budget._all_busy.at = -100.0, 0.0
    assert [budget.light(b"large", 2_000, at) for at in (100.0, later)] == [False, True]
