"""Times of partitions that catch up are lower bounds, and add up, for any moves, commits and appends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.tracking.lag.catch_up import UNREAD_MAX, CatchUps
from rebalance_agent.tracking.lag.end_offsets import EndOffsets

PARTITIONS = [("t", 0), ("t", 1), ("u", 0)]
OWNERS = st.none() | st.dictionaries(
    st.sampled_from(PARTITIONS), st.frozensets(st.sampled_from("abc"), min_size=1, max_size=2)
)
OFFSETS = st.dictionaries(st.sampled_from(PARTITIONS), st.integers(0, 30))
ROUNDS = st.lists(st.tuples(st.integers(1, 100), OWNERS, OFFSETS, OFFSETS), max_size=30)


def measured(rounds):
    """(time, owners, committed, end offsets, result) of each round."""
    ends, catch_ups, now = EndOffsets(), CatchUps(), 0
    for passed, owners, committed, end in rounds:
        now += passed
        ends.take(now, end)
        yield now, owners, committed, end, catch_ups.take(now, owners, committed, ends)


@given(rounds=ROUNDS)
def test_no_partition_catches_up_for_longer_than_since_the_first_change_of_owners(rounds):
    before, changed_at, last = None, None, 0.0
    for now, owners, _, _, result in measured(rounds):
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
    total = 0.0
    for partition in PARTITIONS:
        alone = [
            (
                passed,
                owners and {pair: names for pair, names in owners.items() if pair == partition},
                {pair: offset for pair, offset in committed.items() if pair == partition},
                end,
            )
            for passed, owners, committed, end in rounds
        ]
        total += sum(result.partition_seconds for *_, result in list(measured(alone))[-1:])
    assert sum(result.partition_seconds for *_, result in list(measured(rounds))[-1:]) == total


@given(rounds=ROUNDS, gap=st.integers(0, UNREAD_MAX))
def test_what_is_committed_up_to_its_end_is_not_catching_up(rounds, gap):
    read = [
        (passed, owners, {pair: max(0, at - gap) for pair, at in end.items()}, end) for passed, owners, _, end in rounds
    ]
    for *_, result in measured(read):
        assert (result.partitions, result.partition_seconds) == (0, 0)


@given(rounds=ROUNDS)
def test_only_partitions_with_an_owner_and_a_lag_catch_up_and_time_passes_only_for_those_before(rounds):
    owned, earlier, total, at = {}, 0, 0.0, 0
    for now, owners, committed, _, result in measured(rounds):
        owned = owned if owners is None else owners
        assert result.partitions <= len(owned.keys() & committed.keys())
        # What was not behind at the last measurement has not been behind for certain since then.
        assert result.partition_seconds <= total + earlier * (now - at)
        earlier, total, at = result.partitions, result.partition_seconds, now
