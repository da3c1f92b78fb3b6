from math import exp

import pytest

from rebalance_agent.rebalances.production import SMOOTHED_SECONDS, Production

P = ("t", 0)


def grown(*ends):
    production = Production()
    for at, end in ends:
        production.take(at, {P: end})
    return production


def test_a_rate_takes_two_looks():
    assert grown((0, 100)).rate(P) is None
    assert grown((0, 100), (10, 150)).rate(P) == 5
    assert Production().rate(P) is None


def test_a_rate_forgets_slowly_and_exponentially():
    after = grown((0, 0), (10, 100), (10 + SMOOTHED_SECONDS, 100))
    assert after.rate(P) == pytest.approx(10 * exp(-1))
    steady = grown(*((15 * period, 300 * period) for period in range(9)))
    assert steady.rate(P) == pytest.approx(20)


def test_the_same_moment_twice_divides_by_nothing():
    assert grown((5, 100), (5, 200)).rate(P) is None


def test_an_end_that_falls_is_another_topics():
    production = grown((0, 1_000), (10, 2_000), (20, 3))
    assert production.rate(P) is None
    assert production.lag(P, None) == 0


def test_lag_is_from_the_commit_to_the_end_and_never_negative():
    production = grown((0, 100))
    assert production.lag(P, 40) == 60
    assert production.lag(P, 140) == 0
    assert production.lag(("t", 1), 40) is None


def test_without_a_commit_it_is_what_came_since_the_first_look():
    assert grown((0, 100)).lag(P, None) == 0
    assert grown((0, 100), (10, 130), (20, 150)).lag(P, None) == 50


def test_partitions_that_are_no_longer_asked_for_are_forgotten():
    production = grown((0, 100), (10, 150))
    production.take(20, {})
    assert (production.rate(P), production.lag(P, 0)) == (None, None)
