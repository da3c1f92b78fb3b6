"""Lag in seconds from the times at which end offsets were reached."""

import pytest

from rebalance_agent.tracking.lag.end_offsets import AGE_MAX_S, SAMPLES_MAX, EndOffsets

P = ("t", 0)


def measured(*samples):
    """End offsets of one partition at these times."""
    ends = EndOffsets()
    for at, end in samples:
        ends.take(at, {P: end})
    return ends


def test_at_a_constant_rate_the_age_is_that_of_the_record():
    ends = measured(*((at, 100 * at) for at in range(0, 100, 10)))
    assert ends.end(P) == 9_000
    assert ends.age(P, 8_999) == pytest.approx(0, abs=0.02)
    assert ends.age(P, 4_000) == pytest.approx(50, abs=0.02)


def test_a_partition_read_to_the_end_has_no_lag():
    ends = measured((0, 100), (10, 200))
    assert ends.age(P, 200) == ends.age(P, 300) == 0


def test_records_from_before_the_first_sample_are_dated_by_the_mean_rate():
    ends = measured((0, 1_000), (10, 1_100))
    assert ends.age(P, 500) == pytest.approx(60, abs=0.2)
    assert ends.age(P, -(10**15)) == AGE_MAX_S


def test_without_growth_the_age_of_older_records_is_unknown():
    assert measured((0, 100)).age(P, 50) is None
    assert measured((0, 100), (10, 100), (20, 100)).age(P, 50) is None
    assert measured().age(P, 50) is measured().end(P) is None


def test_a_period_without_new_records_is_stored_as_its_two_ends():
    ends = measured((0, 100), *((at, 100) for at in range(10, 1_000, 10)), (1_000, 200), (1_010, 200))
    # Records 100 to 199 came between 990 and 1,000.
    assert ends.age(P, 100) == pytest.approx(20, abs=0.2)
    assert ends.age(P, 199) == pytest.approx(10, abs=0.2)


def test_samples_of_a_recreated_partition_restart():
    ends = measured((0, 100), (10, 200), (20, 50))
    assert ends.end(P) == 50
    assert ends.age(P, 10) is None


def test_a_partition_missing_in_the_last_measurement_is_removed():
    ends = measured((0, 100), (10, 200))
    ends.take(20, {("t", 1): 5})
    assert ends.end(P) is None
    assert ends.age(P, 150) is None


def test_two_samples_at_one_time_are_one():
    assert measured((10, 100), (10, 200)).end(P) == 100


def test_few_samples_cover_days():
    times = range(0, 3 * 86_400, 15)
    ends = measured(*((at, 7 * at) for at in times))
    (samples,) = ends._samples.values()
    assert len(samples.times) == SAMPLES_MAX
    assert samples.times[0] == 0
    now = times[-1]
    for before, after in zip(samples.times, samples.times[1:], strict=False):
        assert after - before <= max(60, 0.75 * (now - before))
