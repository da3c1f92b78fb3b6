"""Records that are read long after they were written: results become less precise, but never false."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.group import GroupState
from support.tracker.tracking import T0, closing, in_time, listed, member, record, tick, topics, watch

PERIOD_MS = 250
COMPLETING = GroupState.COMPLETING_REBALANCE


def polls(*shown, since=900, until=80_000):
    """A poll every quarter of a second, with ticks; ``shown``: (from, to, state) of the group in polls."""
    for at in range(since, until, PERIOD_MS):
        states = [state for begun, ended, state in shown if begun <= at < ended]
        yield listed(at, "g", state=states[0]) if states else listed(at)
        yield tick(at)


def waited(begun, ended):
    """The group waited for members."""
    return begun, ended, GroupState.PREPARING_REBALANCE


def late(delay, *records):
    """The same observation, read ``delay`` later."""
    return (replace(each, seen_ms=each.seen_ms + delay) for each in records)


START = (record(1_000, 0), record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990))
JOINED = record(34_100, 2, member("a", (0, 1)), member("b", (2,)), member("c", (3,)), joined=34_000)
LEFT = record(34_100, 2, member("a", (0, 1, 2, 3)), joined=34_000)
NEXT = record(40_100, 3, member("a", (0, 1)), member("b", (2, 3)), joined=40_000)
SURELY_MS, AT_MOST_MS = 34_100 - 29_150, 34_100 - 28_900  # from the first poll that shows it, or from the previous one


def reported(*observations):
    """Generation -> (lower, upper) bound of the stall in milliseconds, for all episodes except the first."""
    _, events = watch(*in_time(topics(0, t=4), *observations), tick(120_000))
    return {
        event.generation: (round(1_000 * event.stall.lower_seconds), round(1_000 * event.stall.seconds))
        for event in closing(events)
    }


@pytest.mark.parametrize("delay", [0, 5, 1_000, 3_000, 4_900])
def test_a_stall_is_bounded_for_any_delay_of_records(delay):
    """Partitions of a departed member are stalled at least from the beginning, those of a staying one at most."""
    seen = tuple(polls(waited(1_000, 4_000), waited(29_000, 34_000)))
    at_least, _ = reported(*seen, *late(delay, *START, LEFT))[2]
    _, at_most = reported(*seen, *late(delay, *START, JOINED))[2]
    assert SURELY_MS - 2 * PERIOD_MS <= at_least <= SURELY_MS
    assert at_most >= AT_MOST_MS


@pytest.mark.parametrize("delay", [5_500, 20_000])
def test_a_rebalance_with_a_very_late_record_starts_when_polls_showed_it(delay):
    seen = tuple(polls(waited(29_000, 34_000)))
    at_least, _ = reported(*seen, *START, *late(delay, LEFT))[2]
    _, at_most = reported(*seen, *START, *late(delay, JOINED))[2]
    assert at_least <= SURELY_MS
    assert at_most == AT_MOST_MS


def test_a_long_past_aborted_rebalance_does_not_affect_the_next():
    later = record(900_100, 2, member("a", (0, 1, 2, 3)), joined=900_000)
    seen = (*polls(waited(29_000, 34_000)), *polls(since=890_000, until=910_000))
    _, events = watch(*in_time(topics(0, t=4), *START, *seen, later), tick(920_000))
    assert closing(events)[-1].phases.started_ms >= T0 + 899_000


@pytest.mark.parametrize("between", [34_000, 34_500])
def test_polls_of_the_next_rebalance_do_not_extend_the_first(between):
    """Clock offsets are known; the first rebalance's record is late."""
    shown = (waited(29_000, 34_000), (34_000, between, COMPLETING), waited(between, 40_000))
    assert reported(*polls(*shown), *START, *late(4_000, LEFT), *late(1, NEXT))[2][0] <= SURELY_MS


@pytest.mark.parametrize("between", [[(34_000, 34_500, COMPLETING)], []])
def test_polls_after_one_outside_of_the_join_phase_do_not_extend_a_rebalance(between):
    """Only the states show it: all records are late."""
    shown = (waited(1_000, 4_000), waited(29_000, 34_000), *between, waited(34_500, 40_000))
    assert reported(*polls(*shown), *late(4_900, *START, LEFT))[2][0] <= SURELY_MS


def test_a_forward_clock_step_does_not_extend_a_rebalance():
    seen = [*polls(waited(29_000, 34_000), until=30_000), *polls(waited(49_000, 54_000), since=50_000)]
    assert reported(*seen, *late(4_000, *START), *late(20_000, LEFT))[2][0] <= SURELY_MS
