"""A partition that passes through several owners in one rebalance, some of which never learn of it."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.tracking.tracker import Tracker
from support.examples import examples
from support.tracker.epochs import current, fact, gone, joins, named, target
from support.tracker.tracking import WHOLE, closing, committed, feed, tick

BEFORE = [
    *(joins(0, name) for name in "az"),
    fact(0, GroupEpoch(2)),
    target(0, "a", 0),
    fact(0, TargetEpoch(2)),
    current(0, "a", 2, (0,)),
    current(0, "z", 2),
    *(committed(at, 0) for at in (1_000, 9_000, 9_999)),
]
"""Of the members a and z, a has the only partition; z is the last to reach the next epoch."""

INTERIM = st.tuples(st.none() | st.integers(0, 5_000), st.integers(1, 5_000), st.integers(1, 5_000))
"""An owner: after how long it consumes (None: never), how long it owns the partition, and how long none did before."""


def passed_on(interim):
    """The observations of a rebalance with these owners in between, and its stalls (seconds)."""
    at, epoch, name, stopped, seen, stalls = 10_000, 2, "a", 10_000, [], []
    for number, (consumes_ms, owned_ms, unowned_ms) in enumerate([*interim, (0, 0, 500)]):
        epoch += 1
        seen += [*gone(at, name), fact(at, GroupEpoch(epoch))]
        at, name = at + unowned_ms, f"m{number}"
        seen += [joins(at, name), target(at, name, 0), fact(at, TargetEpoch(epoch)), current(at, name, epoch, (0,))]
        if consumes_ms is not None and consumes_ms <= owned_ms:
            stalls.append((at + consumes_ms - stopped) / 1_000)
            seen.append(committed(at + consumes_ms, 0))
            stopped = at + owned_ms
        at += owned_ms
    return [*seen, current(at, "z", epoch), tick(at + 100_000)], stalls


@settings(max_examples=examples(50))
@given(st.lists(INTERIM, max_size=5))
@example([(3_000, 3_000, 3_000)])
def test_the_bounds_contain_the_longest_stall_and_the_sum_of_all(interim):
    observations, stalls = passed_on(interim)
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, named(t=1), WHOLE, *BEFORE, tick(9_999), commits=False)
    (event,) = closing(feed(tracker, *observations, commits=False))
    assert event.stall.lower_seconds <= max(stalls) <= event.stall.seconds
    assert event.stall.partition_seconds <= sum(stalls) + 1e-6
    assert sum(stalls) <= event.stall.upper_partition_seconds + 1e-6
