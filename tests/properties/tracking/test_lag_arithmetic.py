"""Lag in offsets and seconds is never negative and within its bounds, for any data of brokers and groups."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.end_offsets import AGE_MAX_S, SAMPLES_MAX, EndOffsets
from rebalance_agent.tracking.lag.group_lag import GroupProgress, group_lag, topic_lags

OFFSETS = st.integers(-1, 2**62)
STEPS = st.lists(st.tuples(st.floats(0.001, 1e5), st.integers(0, 10**6)), min_size=1, max_size=60)
PARTITIONS = [("t", 0), ("t", 1), ("u", 0)]


def history(steps):
    """(time, end offset) after each step, both ascending."""
    return list(
        accumulate(steps, lambda before, step: (before[0] + step[0], before[1] + step[1]), initial=(0.0, 1_000))
    )


@given(steps=STEPS, offset=OFFSETS)
def test_an_age_is_between_zero_and_its_bound_and_rises_with_older_records(steps, offset):
    ends = EndOffsets()
    for at, end in history(steps):
        ends.take(at, {PARTITIONS[0]: end})
        age, older = ends.age(PARTITIONS[0], offset), ends.age(PARTITIONS[0], offset - 1)
        assert age is None or 0 <= age <= AGE_MAX_S
        assert age is None or older is None or older >= age - 1e-6
        assert (age == 0) or offset < end
        assert len(ends._samples[PARTITIONS[0]].ends) <= SAMPLES_MAX


@given(steps=STEPS, share=st.floats(0, 1))
def test_the_age_of_an_observed_record_lies_between_the_stored_samples_around_it(steps, share):
    ends, known = EndOffsets(), history(steps)
    for at, end in known:
        ends.take(at, {PARTITIONS[0]: end})
    first, last = known[0][1], known[-1][1]
    offset = first + int(share * (last - first))
    if offset == last:
        return
    now = known[-1][0]
    truth_latest = next(at for at, end in known if end > offset)
    truth_earliest = max(at for at, end in known if end <= offset)
    samples = ends._samples[PARTITIONS[0]]
    after = next(index for index, end in enumerate(samples.ends) if end > offset)
    reported = now - ends.age(PARTITIONS[0], offset)
    assert samples.times[after - 1] - 1e-6 <= reported <= max(samples.times[after], now - AGE_MAX_S) + 1e-6
    assert samples.times[after - 1] <= truth_latest
    assert samples.times[after] >= truth_earliest


@given(
    rounds=st.lists(
        st.tuples(
            st.floats(0.001, 1e4),
            st.dictionaries(st.sampled_from(PARTITIONS), OFFSETS),
            st.dictionaries(st.sampled_from(PARTITIONS), OFFSETS),
            st.sets(st.sampled_from(PARTITIONS)),
        ),
        max_size=20,
    )
)
def test_a_groups_lag_is_never_negative_and_its_parts_add_up(rounds):
    ends, progress, now = EndOffsets(), GroupProgress(), 0.0
    for passed, end, committed, owned in rounds:
        now += passed
        ends.take(now, end)
        stuck = progress.take(now, owned, committed, ends)
        lag = group_lag(topic_lags(PARTITIONS, committed, ends), (), stuck, CatchUp(), has_owned=bool(owned))
        assert (lag is None) == (not end.keys() & committed.keys())
        if stuck:
            assert 0 <= stuck.seconds <= min(now, AGE_MAX_S)
            assert (stuck.topic, stuck.partition) in owned
        if lag:
            assert lag.offsets == sum(topic.offsets for topic in lag.topics)
            assert all(topic.offsets >= 0 for topic in lag.topics)
            for seconds in (lag.seconds, *(topic.seconds for topic in lag.topics)):
                assert seconds is None or 0 <= seconds <= AGE_MAX_S
            assert lag.offsets or lag.seconds == 0
