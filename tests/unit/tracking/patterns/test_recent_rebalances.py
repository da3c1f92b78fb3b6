from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.api.view_shapes import build_summary
from rebalance_agent.model.episode import Trigger
from rebalance_agent.tracking.patterns.recent_rebalances import RECENT_MAX, RECENT_MS, with_rebalance
from support.tracker.tracking import T0, closing, member, record, tick, topics, watch


def test_a_view_has_the_times_of_its_last_rebalances():
    both = (member("a", (0, 1)), member("b", (2, 3)))
    at = (10_000, 300_000, 905_000)
    records = [record(each, number, *both[: 1 + number % 2]) for number, each in enumerate(at, 1)]
    tracker, _ = watch(topics(0, t=4), record(1_000, 0), *records, tick(1_000_000))
    assert tracker.view("g").recent_ms == (T0 + 905_000, T0 + 300_000, T0 + 10_000)
    tracker, _ = watch(topics(0, t=4), record(1_000, 0), *records, record(910_001, 4, both[0]), tick(1_000_000))
    assert tracker.view("g").recent_ms == (T0 + 910_001, T0 + 905_000, T0 + 300_000)


def test_a_view_has_the_time_of_a_rebalance_until_it_has_settled():
    joined = topics(0, t=4), record(1_000, 0), record(10_000, 1, member("a", (0, 1, 2, 3)))
    tracker, _ = watch(*joined, tick(10_500))
    assert (tracker.view("g").unsettled_ms, tracker.view("g").recent_ms) == (T0 + 10_000, ())
    tracker, _ = watch(*joined, tick(10_500), tick(100_000))
    assert (tracker.view("g").unsettled_ms, tracker.view("g").recent_ms) == (None, (T0 + 10_000,))


def test_a_completed_rebalance_counts_before_it_has_settled():
    joined = topics(0, t=4), record(1_000, 0), record(10_000, 1, member("a", (0, 1, 2, 3)))
    for ticks, unsettled in (((10_500,), 1), ((10_500, 100_000), 0)):
        tracker, _ = watch(*joined, *map(tick, ticks))
        view = tracker.view("g")
        assert (view.unsettled, build_summary(view).rebalances) == (unsettled, 1)


def test_the_return_of_a_static_member_is_no_rebalance():
    first, again = (replace(member(name, (0,)), instance_id="i") for name in "ab")
    tracker, events = watch(
        topics(0, t=1), record(1_000, 0), record(10_000, 1, first), record(60_000, 1, again), tick(200_000)
    )
    assert closing(events)[-1].trigger is Trigger.MEMBER_REPLACED
    assert tracker.view("g").recent_ms == (T0 + 10_000,)


@given(st.lists(st.integers(0, 3 * RECENT_MS), min_size=1, max_size=200))
def test_the_newest_in_the_window_are_kept(times):
    kept = ()
    for at_ms in sorted(times):
        kept = with_rebalance(kept, at_ms)
    newest = sorted(times, reverse=True)
    assert list(kept) == [each for each in newest if each > newest[0] - RECENT_MS][:RECENT_MAX]
