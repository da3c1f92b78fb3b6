"""Invariants of epoch groups, for any steps of members in any order."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GenerationEvent, GroupGoneEvent
from rebalance_agent.tracking.evidence.last_seen import SESSION_TIMEOUT_MS
from rebalance_agent.tracking.observations import Backfilled, Tick
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import partition_seconds_at
from support.examples import examples
from support.tracker.epoch_model import EpochCoordinator
from support.tracker.epochs import named
from support.tracker.totals import numbers_of
from support.tracker.tracking import WHOLE, feed, tick

PARTITIONS = 5
NAMES = st.sampled_from("abc")
STEPS = st.lists(
    st.tuples(
        NAMES,
        st.sampled_from(["join", "join", "leave", "assign", "assign", "beat", "beat", "beat", "beat"]),
        st.integers(1, 3_000),
    ),
    max_size=40,
)


def simulated(steps, *, settled=True):
    coordinator = EpochCoordinator(PARTITIONS)
    for step in steps:
        coordinator.step(*step)
    if settled:
        coordinator.settle()
    return coordinator


def observer():
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, named(t=PARTITIONS))
    return tracker


def records(batches):
    return [record for batch in batches for record in batch]


def generations(events):
    return [event for event in events if isinstance(event, GenerationEvent)]


# b leaves when only b has not reached its epoch yet: the group never reaches that epoch.
OVERTAKEN = [
    *(("a", action, 100) for action in ("join", "assign", "beat")),
    *(("b", action, 100) for action in ("join", "assign")),
    *(("a", action, 100) for action in ("beat", "beat")),
    ("b", "leave", 100),
]


@settings(max_examples=examples())
@given(STEPS, st.lists(st.integers(0, 200_000), max_size=10))
@example(OVERTAKEN, [])
def test_every_epoch_that_all_members_reach_is_reported_exactly_once_and_no_other(steps, pauses):
    coordinator = simulated(steps)
    tracker = observer()
    reported = sorted([*records(coordinator.batches), *map(tick, pauses)], key=_seen)
    events = feed(tracker, WHOLE, *reported, tick(coordinator.at + 1_000_000))
    assert [event.generation for event in generations(events)] == coordinator.reached
    assert len({event.event_id for event in events}) == len(events)
    if view := tracker.view("g"):
        assert [member.member_id for member in view.members] == coordinator.names
        assert not view.members or view.unassigned == 0
        assert view.running is None
        assert sum(view.counters.completed.values()) == sum(1 for event in events if _counts(event))


@settings(max_examples=examples())
@given(STEPS)
def test_counters_never_fall_stalls_are_never_negative_and_a_replay_is_the_same(steps):
    observations = [WHOLE, *records(simulated(steps).batches), tick(10_000_000)]
    tracker, again, before, events = observer(), observer(), {}, []
    for observation in observations:
        events += tracker.observe(observation)
        if view := tracker.view("g"):
            after = numbers_of(view.counters)
            for key, values in before.items():
                assert all(now >= then for now, then in zip(after[key], values, strict=True)), key
            stalled, total = partition_seconds_at(view, _seen(observation))
            assert 0 <= stalled <= total + 1e-6
            before = after
    for event in generations(events):
        if event.stall:
            assert 0 <= event.stall.lower_seconds <= (math.inf if event.stall.seconds is None else event.stall.seconds)
            assert round(event.stall.lower_seconds * 1_000) <= _lasted_ms(event)
            # Only departed members may have been stalled before its start, for at most a session.
            went = {Trigger.MEMBER_GONE} & set(event.causes)
            assert round(event.stall.lower_seconds * 1_000) <= _lasted_ms(event) + (SESSION_TIMEOUT_MS if went else 0)
            assert 0 <= event.stall.partition_seconds * 1_000 <= PARTITIONS * _lasted_ms(event) + 1e-6
    assert [json_line(event) for event in feed(again, *observations, commits=False)] == [
        json_line(event) for event in events
    ]


@settings(max_examples=examples())
@given(STEPS, st.data())
def test_an_observer_started_later_reports_the_same_and_finally_has_the_same_state(steps, data):
    coordinator = simulated(steps)
    place = data.draw(st.integers(0, len(coordinator.batches)))
    end = tick(coordinator.at + 1_000_000)
    first, second = observer(), observer()
    whole = {event.event_id for event in feed(first, WHOLE, *records(coordinator.batches), end)}
    past = {(record.kind, record.subject): record for record in records(coordinator.batches[:place])}
    feed(second, *(replace(record, live=False) for record in past.values()), WHOLE)
    later = [event.event_id for event in feed(second, *records(coordinator.batches[place:]), end)]
    assert len(set(later)) == len(later)
    assert set(later) <= whole
    assert _what_is(first.view("g")) == _what_is(second.view("g"))


@settings(max_examples=examples(50))
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_deleted_groups_leave_no_data(lives):
    tracker, sizes, at = observer(), [], 1_000
    feed(tracker, WHOLE)
    for number, steps in enumerate([[], *lives]):
        coordinator = EpochCoordinator(PARTITIONS, f"group-{number % 10}", at=at)
        for step in [("a", "join", 1), *steps]:
            coordinator.step(*step)
        coordinator.delete()
        at = coordinator.at + 2_000_000
        events = feed(tracker, *records(coordinator.batches), tick(at))
        assert [type(event) for event in events].count(GroupGoneEvent) == 1
        assert list(tracker.groups()) == []
        tracker.changed()
        # Clock differences are remembered, of 64 records at most.
        sizes.append(len(pickle.dumps(tracker)))
    assert max(sizes) - sizes[0] <= 64 * 10


def _seen(observation):
    return observation.at_ms if isinstance(observation, Tick | Backfilled) else observation.seen_ms


def _lasted_ms(event):
    return event.phases.completed_ms - event.phases.started_ms


def _counts(event):
    return isinstance(event, GenerationEvent) and event.closes_episode and bool(event.members)


def _what_is(view):
    """Facts known to every observer; only one that observed the last members knows the partitions of an Empty group."""
    sizes = (view.partitions, view.unassigned) if view and view.members else None
    return view and (view.state, view.generation, view.members, sizes, view.skew_ratio)
