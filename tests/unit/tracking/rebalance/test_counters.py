from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.views import STALL_BUCKETS, StallHistogram
from support.tracker.tracking import T0, closing, member, record, tick, watch

_, _EVENTS = watch(record(1_000, 0), record(4_000, 1, member("a", (0, 1))), tick(60_000))
EPISODE = closing(_EVENTS)[0]


def settled(ledger, seconds, partition_seconds=0.0, basis=Basis.BOUND, advanced=0.0):
    stall = Stall(seconds, seconds, partition_seconds, basis)
    ledger.settle(replace(EPISODE, stall=stall), advanced, 0.0)
    return ledger.counters


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (0.1, 0), (0.11, 1), (600.0, len(STALL_BUCKETS) - 1), (601.0, len(STALL_BUCKETS))]
)
def test_a_bucket_includes_its_upper_bound(seconds, bucket):
    counters = settled(CounterTotals(T0), seconds)
    assert counters.stalls[Basis.BOUND].counts[bucket] == 1
    assert sum(counters.stalls[Basis.BOUND].counts) == 1
    assert counters.stalls[Basis.BOUND].sum_seconds == seconds


def test_bases_are_counted_separately():
    ledger = CounterTotals(T0)
    ledger.expect_reports()
    settled(ledger, 1.0)
    counters = settled(ledger, 2.0, basis=Basis.EXACT)
    assert {basis: stalls.sum_seconds for basis, stalls in counters.stalls.items()} == {
        Basis.BOUND: 1.0,
        Basis.EXACT: 2.0,
    }


def test_known_upper_bounds_are_counted():
    totals = CounterTotals(T0)
    for upper in (Stall(4.0, 1.0, 2.0, Basis.BOUND, 8.0), Stall(None, 1.0, 2.0, Basis.BOUND)):
        totals.settle(replace(EPISODE, stall=upper), 0.0, 0.0)
    counters = totals.counters
    assert (counters.stalls[Basis.BOUND].sum_seconds, sum(counters.stalls[Basis.BOUND].counts)) == (2.0, 2)
    assert (counters.upper_stalls.sum_seconds, sum(counters.upper_stalls.counts)) == (4.0, 1)
    assert (counters.stalled_partition_seconds, counters.upper_stalled_partition_seconds) == (4.0, 10.0)


def test_partition_seconds_counted_in_advance_are_not_counted_again_and_never_subtracted():
    assert settled(CounterTotals(T0), 1.0, 10.0, advanced=4.0).stalled_partition_seconds == 6.0
    assert settled(CounterTotals(T0), 1.0, 10.0, advanced=12.0).stalled_partition_seconds == 0.0


def test_the_stalled_part_never_exceeds_the_whole():
    counters = settled(CounterTotals(T0), 48.0, 96.0)
    assert counters.partition_seconds == counters.stalled_partition_seconds == 96.0


def test_a_backward_clock_step_counts_nothing():
    ledger = CounterTotals(T0)
    ledger.set_partitions(4, T0)
    ledger.advance(T0 - 60_000)
    assert ledger.counters.partition_seconds == 0
    ledger.advance(T0 + 1_000)
    assert ledger.counters.partition_seconds == 4


def test_excess_moves_are_those_beyond_the_minimum():
    ledger = CounterTotals(T0)
    ledger.settle(replace(EPISODE, stall=None, moved=5, needed=2), 0.0, 0.0)
    ledger.settle(replace(EPISODE, stall=None, moved=1, needed=None), 0.0, 0.0)
    assert (ledger.counters.moved, ledger.counters.moved_excess) == (6, 3)


def test_the_histogram_of_measured_stalls_begins_with_reports_and_at_zero():
    ledger = CounterTotals(T0)
    assert settled(ledger, 0.0, basis=Basis.EXACT).stalls.keys() == {Basis.BOUND}
    assert ledger.expect_reports()
    assert ledger.counters.stalls[Basis.EXACT] == StallHistogram()
    settled(ledger, 2.0, basis=Basis.EXACT)
    assert not ledger.expect_reports()
    assert ledger.counters.stalls[Basis.EXACT].sum_seconds == 2.0


def test_partition_seconds_with_two_owners_add_up_from_the_first_report_on():
    ledger = CounterTotals(T0)
    assert ledger.counters.doubly_owned_partition_seconds is None
    ledger.expect_reports()
    assert ledger.counters.doubly_owned_partition_seconds == 0.0
    ledger.own_doubly(2.0)
    ledger.own_doubly(0.5)
    assert ledger.counters.doubly_owned_partition_seconds == 2.5
    assert ledger.counters.assign_errors == 0
