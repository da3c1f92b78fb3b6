"""Due work: large amounts are done in small steps, with the same result."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.event_json import json_line
from rebalance_agent.tracking import tracker as tracker_module
from rebalance_agent.tracking.classic.state import ClassicState
from rebalance_agent.tracking.completed_generation import Episode
from rebalance_agent.tracking.deadlines import Deadlines
from rebalance_agent.tracking.groups import LATE_MAX_MS
from rebalance_agent.tracking.memory.state_budget import PARTITION_BYTES
from rebalance_agent.tracking.observations import PartitionsOwned
from rebalance_agent.tracking.tracker import DUE_BYTES, DUE_MAX, Tracker
from support.tracker.tracking import (
    T0,
    closing,
    feed,
    in_time,
    left,
    listed,
    member,
    record,
    tick,
    tombstone,
    topics,
    watch,
)

MANY = 3 * DUE_MAX
PARTITIONS = DUE_BYTES // PARTITION_BYTES
NAMES = [f"group-{number:04}" for number in range(MANY)]
ALL_AT_ONCE = (
    topics(0, t=4),
    *(record(1_000, 0, group=name) for name in NAMES),
    *(record(4_000, 1, member("a", (0, 1, 2, 3)), group=name) for name in NAMES),
)
LEFT = (
    topics(0, t=4),
    record(1_000, 0),
    record(4_000, 1, member("a", (0, 1)), member("b", (2, 3))),
    tick(11_000),
    record(12_500, 2, member("a", (0, 1, 2, 3))),
)
START = (topics(0, t=4), record(1_000, 0), record(4_000, 1, member("a", (0,))))


def test_many_due_groups_are_settled_in_steps():
    tracker, events = watch(*ALL_AT_ONCE)
    assert (events, tracker.behind) == ([], False)
    reported = []
    for tellings in range(1, 4):
        reported += tracker.observe(tick(20_000))
        assert (len(closing(reported)), tracker.behind) == (tellings * DUE_MAX, tellings < 3)
    assert [event.group for event in reported] == NAMES
    assert tracker.observe(tick(20_000)) == ()


def test_a_step_ends_after_a_group_with_much_work():
    records = [record(4_000, 1, member("a", range(PARTITIONS)), group=name) for name in NAMES[:4]]
    tracker, _ = watch(topics(0, t=PARTITIONS), *(record(1_000, 0, group=name) for name in NAMES[:4]), *records)
    reported = []
    for tellings in range(1, 5):
        reported += tracker.observe(tick(20_000))
        assert (len(closing(reported)), tracker.behind) == (tellings, tellings < 4)


def test_a_due_group_settles_before_its_next_observation_is_processed():
    tracker, _ = watch(*ALL_AT_ONCE)
    last = NAMES[-1]
    (event,) = feed(tracker, record(20_000, 2, member("a", (0, 1)), member("b", (2, 3)), group=last))
    assert (event.group, event.generation) == (last, 1)
    (event,) = feed(tracker, listed(20_000, NAMES[-2]))
    assert (event.group, event.generation) == (NAMES[-2], 1)


LATE_RECORD = replace(record(12_000, 0, group="other"), seen_ms=T0 + 20_000)


@pytest.mark.parametrize("news", [(listed(20_000, complete=False),), (LATE_RECORD,), (LATE_RECORD, LATE_RECORD)])
def test_an_outage_changes_no_work_that_was_due_before_it_was_noticed(news, monkeypatch):
    """Otherwise all due work would have to be done at once, while other groups' records wait."""
    known = []
    monkeypatch.setattr(Episode, "add_outages", lambda _, outages: known.append(outages))
    in_time, _ = watch(*LEFT)
    expected = feed(in_time, tick(19_999), *news)
    late, _ = watch(*LEFT)
    assert feed(late, *news) == []
    assert feed(late, tick(20_000)) == expected
    assert len(closing(expected)) == 1
    assert known == [()] * 4


@pytest.mark.parametrize(
    "news",
    [
        topics(20_000, t=5),
        PartitionsOwned(T0 + 20_000, frozenset(), 50),
    ],
)
def test_observations_that_may_change_any_group_wait_until_earlier_due_work_is_done(news):
    tracker, _ = watch(*ALL_AT_ONCE)
    assert len(closing(tracker.observe(news))) == MANY


def test_the_same_topics_again_do_not_wait():
    tracker, _ = watch(*ALL_AT_ONCE)
    assert tracker.observe(topics(20_000, t=4)) == ()


def test_a_clock_step_is_processed_without_each_minute_of_it(monkeypatch):
    tracker, _ = watch(*START, tick(20_000))
    steps, pass_time = [], ClassicState.pass_time

    def counted(state, now_ms):
        steps.append(now_ms)
        return pass_time(state, now_ms)

    monkeypatch.setattr(ClassicState, "pass_time", counted)
    assert feed(tracker, tick(10 * 365 * 86_400_000)) == []
    assert len(steps) < 5


GROUPS = st.sampled_from(["g", "h", "i"])


@st.composite
def _histories(draw):
    """Records, polls and reports of some groups, ordered by time; reports may be late."""
    generations, written = dict.fromkeys("ghi", 0), dict.fromkeys("ghi", 0)
    at, history = 0, [topics(0, t=4)]
    for _ in range(draw(st.integers(1, 25))):
        at += draw(st.sampled_from([1, 500, 4_000, 5_000, 20_000]))
        name = draw(GROUPS)
        action = draw(st.sampled_from(["record", "record", "record", "leave", "leave", "poll", "delete", "grow"]))
        if action == "record":
            generations[name] += 1
            members = [member(each, (place,)) for place, each in enumerate(draw(st.sets(st.sampled_from("abc"))))]
            history.append(record(at, generations[name], *members, group=name, joined=at - 100))
            written[name] = at
        elif action == "poll":
            history.append(listed(at, name))
        elif action == "leave":
            history.append(left("a", written[name] - 50, generations[name] - 1, received=at, group=name))
        elif action == "grow":
            history.append(topics(at, t=draw(st.integers(4, 6))))
        else:
            generations[name] = 0
            history.append(tombstone(at, name))
    return history


def _reported(history, period_ms, most):
    """Events by group if the tracker gets the time at this interval and settles at most ``most`` groups at a time."""
    observations = in_time(*history, *map(tick, range(0, 300_000, period_ms)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracker_module, "DUE_MAX", most)
        tracker = Tracker("cluster")
        events = [event for each in observations for event in tracker.observe(each)]
        events += feed(tracker, tick(600_000))
    return {name: [json_line(event) for event in events if event.group == name] for name in "ghi"}


@pytest.mark.no_cover  # many times over what others count
@settings(max_examples=40)
@given(_histories(), st.sampled_from([1_000, 3_000, 11_000]))
def test_the_intervals_and_sizes_of_steps_do_not_change_the_result(history, period_ms):
    assert _reported(history, period_ms, 1) == _reported(history, LATE_MAX_MS, DUE_MAX)


def test_the_earliest_deadline_counts_and_dropped_ones_do_not():
    deadlines = Deadlines()
    deadlines.set("b", 20)
    deadlines.set("a", 20)
    deadlines.set("b", 30)
    deadlines.set("c", 5)
    deadlines.drop("c")
    assert (deadlines.first(19), deadlines.first(20), deadlines.due_ms("b")) == (None, "a", 20)
    deadlines.drop("a")
    assert deadlines.first(20) == "b"
    deadlines.set("b", 10)
    assert (deadlines.first(10), deadlines.due_ms("c")) == ("b", None)
    deadlines.clear()
    assert deadlines.first(100) is None
