"""Times of partitions that catch up are lower bounds, and add up, for any moves, commits and appends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.tracking.lag.catch_up import UNREAD_MAX, CatchUps
from rebalance_agent.tracking.lag.end_offsets import EndOffsets

PARTITIONS = [("t", 0), ("t", 1), ("u", 0)]

STATES = st.tuples(
    st.sampled_from([frozenset(names) for names in ("a", "b", "c", "ab", "")]),
    st.sampled_from([0, 10, 18, 20, None]),
    st.sampled_from([10, 20, 30]),
)
"""Owners, committed offset and end offset of a partition."""

ROUNDS = st.lists(
    st.tuples(
        st.integers(1, 100),
        st.sampled_from([False, False, False, True]),
        st.fixed_dictionaries({}, optional=dict.fromkeys(PARTITIONS, STATES)),
    ),
    max_size=15,
)
"""Seconds since the previous round, whether the owners are unknown, and the changed partitions."""


def simulated(rounds):
    """Each round as (seconds, owners, committed offsets, end offsets); at first, one member owns all and lags."""
    states = dict.fromkeys(PARTITIONS, (frozenset("a"), 0, 20))
    for passed, unknown, changes in [(1, False, {}), *rounds]:
        states |= changes
        owners = {pair: names for pair, (names, _, _) in states.items() if names}
        committed = {pair: offset for pair, (_, offset, _) in states.items() if offset is not None}
        yield passed, None if unknown else owners, committed, {pair: end for pair, (_, _, end) in states.items()}


def measured(rounds):
    """(time, owners, committed offsets, end offsets, result) of each of the ``rounds``."""
    ends, catch_ups, now = EndOffsets(), CatchUps(), 0
    for passed, owners, committed, end in rounds:
        now += passed
        ends.take(now, end)
        yield now, owners, committed, end, catch_ups.take(now, owners, committed, ends)


def only(partition, values):
    """The part of ``values`` for one partition; None stays None."""
    return None if values is None else {pair: value for pair, value in values.items() if pair == partition}


@given(rounds=ROUNDS)
def test_no_partition_catches_up_for_longer_than_since_the_first_change_of_owners(rounds):
    before, changed_at, last = None, None, 0.0
    for now, owners, _, _, result in measured(simulated(rounds)):
        if before is not None and owners not in (None, before):
            changed_at = now if changed_at is None else changed_at
        before = owners if owners is not None else before
        since = 0 if changed_at is None else now - changed_at
        assert (result.seconds or 0) <= since
        assert last <= result.partition_seconds <= since * len(PARTITIONS)
        assert result.partitions <= result.moved <= len(PARTITIONS)
        last = result.partition_seconds
        assert (result.seconds is None) == (result.moved == 0)


@given(rounds=ROUNDS)
def test_the_groups_time_is_the_sum_over_its_partitions(rounds):
    def total(rounds):
        return list(measured(rounds))[-1][-1].partition_seconds

    whole = list(simulated(rounds))
    alone = ([(passed, *(only(pair, each) for each in rest)) for passed, *rest in whole] for pair in PARTITIONS)
    assert total(whole) == sum(map(total, alone))


@given(rounds=ROUNDS, gap=st.integers(0, UNREAD_MAX))
def test_a_partition_committed_up_to_its_end_is_not_catching_up(rounds, gap):
    read = [
        (passed, owners, {pair: at - gap for pair, at in end.items()}, end)
        for passed, owners, _, end in simulated(rounds)
    ]
    for *_, result in measured(read):
        assert (result.partitions, result.partition_seconds) == (0, 0)


@given(rounds=ROUNDS)
def test_only_partitions_with_an_owner_and_a_lag_catch_up_and_time_passes_only_for_those_before(rounds):
    owned, earlier, total, at = {}, 0, 0.0, 0
    for now, owners, committed, end, result in measured(simulated(rounds)):
        owned = owned if owners is None else owners
        assert result.partitions <= sum(committed[pair] < end[pair] for pair in owned.keys() & committed.keys())
        # A partition without lag at the last measurement has not certainly had a lag since then.
        assert result.partition_seconds <= total + earlier * (now - at)
        earlier, total, at = result.partitions, result.partition_seconds, now
