from math import exp

import pytest

from rebalance_agent.tracking.patterns.produce_rates import SMOOTHED_SECONDS, ProduceRates

P = ("t", 0)


def grown(*ends):
    production = ProduceRates()
    for at, end in ends:
        production.take(at, {P: end})
    return production


def test_a_rate_needs_two_measurements():
    assert grown((0, 100)).rate(P) is None
    assert grown((0, 100), (10, 150)).rate(P) == 5
    assert ProduceRates().rate(P) is None


def test_a_rate_is_an_exponential_average():
    after = grown((0, 0), (600, 6_000), (600 + SMOOTHED_SECONDS, 6_000))
    assert after.rate(P) == pytest.approx(10 * exp(-1), rel=1e-4)
    steady = grown(*((15 * period, 300 * period) for period in range(9)))
    assert steady.rate(P) == pytest.approx(20)


@pytest.mark.parametrize("cuts", [(), (5,), (1, 2, 40)])
def test_a_burst_has_the_same_weight_in_every_period(cuts):
    """Steady for 10 s from the first measurement, then nothing for a minute."""
    looks = sorted({0.0, 10.0, 10 + SMOOTHED_SECONDS, *map(float, cuts)})
    left = (exp(-1) - exp(-1 - 10 / SMOOTHED_SECONDS)) / (1 - exp(-1 - 10 / SMOOTHED_SECONDS))
    assert grown(*((at, round(10 * min(at, 10))) for at in looks)).rate(P) == pytest.approx(10 * left)


def test_records_produced_across_two_measurements_count_equally_for_both_partitions():
    """One partition was filled just before a measurement, the other just after it: the second measurement, or any later
    one."""
    production, other = ProduceRates(), ("t", 1)
    for at, ends in ((0, (0, 0)), (0.5, (300, 0)), (1, (300, 300))):
        production.take(at, dict(zip((P, other), ends, strict=True)))
    assert production.rate(P) == pytest.approx(production.rate(other), rel=0.01)


def test_two_measurements_at_the_same_time_do_not_divide_by_zero():
    assert grown((5, 100), (5, 200)).rate(P) is None


def test_a_decreasing_end_offset_means_a_recreated_topic():
    production = grown((0, 1_000), (10, 2_000), (20, 3))
    assert production.rate(P) is None
    assert production.lag(P, None) == 0


def test_lag_is_from_the_commit_to_the_end_and_never_negative():
    production = grown((0, 100))
    assert production.lag(P, 40) == 60
    assert production.lag(P, 140) == 0
    assert production.lag(("t", 1), 40) is None


def test_without_a_commit_the_lag_counts_from_the_first_measurement():
    assert grown((0, 100)).lag(P, None) == 0
    assert grown((0, 100), (10, 130), (20, 150)).lag(P, None) == 50


def test_partitions_without_further_requests_are_removed():
    production = grown((0, 100), (10, 150))
    production.take(20, {})
    assert (production.rate(P), production.lag(P, 0)) == (None, None)
