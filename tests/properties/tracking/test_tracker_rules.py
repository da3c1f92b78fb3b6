"""Invariants of the tracker, for any observations in any order."""

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.episode import Basis
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, GenerationEvent, GroupGoneEvent
from rebalance_agent.tracking.observations import GroupsListed
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import partition_seconds_at
from support.examples import examples
from support.tracker.totals import numbers_of
from support.tracker.tracking import (
    T0,
    closing,
    feed,
    left,
    listed,
    member,
    record,
    said,
    tick,
    tombstone,
    topics,
    watch,
)

TIMES = st.integers(0, 120_000)
NAMES = st.sampled_from(["a", "b", "c"])
PARTS = st.lists(st.integers(0, 5), unique=True).map(lambda numbers: tuple(sorted(numbers)))


@st.composite
def _members(draw, protocol):
    names = draw(st.lists(NAMES, unique=True))
    numbers = list(range(draw(st.integers(0, 6))))
    shares = {
        name: tuple(number for number in numbers if number % len(names) == place) for place, name in enumerate(names)
    }
    instances = draw(st.sampled_from([None, "static"]))
    return [
        member(
            f"{name}-{draw(st.integers(0, 1))}",
            shares[name],
            owned=draw(PARTS) if protocol.startswith("cooperative") else (),
            instance=instances and f"{instances}-{name}",
        )
        for name in names
    ]


@st.composite
def _records(draw):
    protocol = draw(st.sampled_from(["range", "cooperative-sticky"]))
    at = draw(TIMES)
    return record(
        at,
        draw(st.integers(0, 12)),
        *draw(_members(protocol)),
        joined=draw(st.one_of(st.none(), st.integers(-200_000, 200_000))),
        protocol=protocol,
        live=draw(st.booleans()),
        delay=draw(st.integers(-10_000, 10_000)),
    )


def _reports():
    def build(callback, name, entered, took, generation, parts, sequence):
        return said(callback, name, entered, entered + took, generation, parts, seq=sequence)

    return st.builds(
        build,
        st.sampled_from(Callback),
        st.sampled_from(["a-0", "a-1", "b-0", "b-1", "c-0", "stranger", ""]),
        st.one_of(TIMES, st.integers(-(2**62), 2**62)),
        st.one_of(st.integers(0, 30_000), st.integers(-(2**62), 2**62)),
        st.one_of(st.integers(-1, 12), st.integers(-(2**31), 2**31)),
        PARTS,
        st.integers(0, 50),
    )


POLLS = st.builds(
    lambda at, groups, complete: listed(at, *groups, complete=complete),
    TIMES,
    st.sampled_from([(), ("g",), ("h",), ("g", "h")]),
    st.booleans(),
)
OBSERVATIONS = st.one_of(
    _records(),
    _reports(),
    POLLS,
    TIMES.map(tick),
    TIMES.map(tombstone),
    st.builds(lambda at, t: topics(at, t=t), TIMES, st.integers(0, 8)),
)


@settings(max_examples=examples())
@given(st.lists(OBSERVATIONS, max_size=40))
def test_nothing_raises_no_counter_falls_and_every_replay_is_equal(observations):
    tracker, again = Tracker("cluster"), Tracker("cluster")
    before, events, gone = {}, [], True
    for observation in observations:
        new = tracker.observe(observation)
        events += new
        view = tracker.view("g")
        if any(isinstance(event, GroupGoneEvent) for event in new):
            before = {}  # what is there now was created since
        if view is None:
            before, gone = {}, True
            continue
        after = numbers_of(view.counters)
        for key, values in before.items():
            assert all(now >= then for now, then in zip(after[key], values, strict=True)), key
        assert view.counters.stalled_partition_seconds <= view.counters.partition_seconds + 1e-6
        before, gone = after, False
        assert view.unassigned is None or view.unassigned >= 0
    assert gone or tracker.view("g") is not None
    assert [json_line(event) for event in feed(again, *observations, commits=False)] == [
        json_line(event) for event in events
    ]
    for event in closing(events):
        if event.stall:
            assert 0 <= event.stall.lower_seconds <= (math.inf if event.stall.seconds is None else event.stall.seconds)
            assert event.stall.basis is Basis.BOUND or event.stall.lower_seconds == event.stall.seconds


HISTORY = (
    topics(0, t=4),
    record(1_000, 0),
    record(4_000, 1, member("a", (0, 1, 2, 3)), joined=3_990),
    listed(20_000),
    listed(20_200, "g"),
    record(23_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=22_990),
    listed(40_000),
    listed(40_200, "g"),
    record(43_000, 3, member("a", (0, 1, 2, 3)), joined=42_990),
)
REPORTS = (
    said(Callback.ASSIGNED, "a", 4_002, 4_004, 1, (0, 1, 2, 3)),
    said(Callback.REVOKED, "a", 20_300, 22_980, 1, (0, 1, 2, 3)),
    said(Callback.ASSIGNED, "a", 23_002, 23_005, 2, (0, 1)),
    said(Callback.ASSIGNED, "b", 23_002, 23_008, 2, (2, 3)),
    said(Callback.REVOKED, "b", 40_010, 40_020, 2, (2, 3)),
    left("b", 40_030, 2),
    said(Callback.REVOKED, "a", 40_500, 42_980, 2, (0, 1)),
    said(Callback.ASSIGNED, "a", 43_002, 43_010, 3, (0, 1, 2, 3)),
)


@settings(max_examples=examples())
@given(
    st.permutations(REPORTS),
    st.lists(st.sampled_from(REPORTS), max_size=6),
    st.lists(st.integers(0, 4_000), min_size=8, max_size=8),
)
def test_reports_in_any_order_duplicated_or_late_within_the_settling_time_give_the_same_result(order, doubled, delays):
    def reported(reports):
        observations = sorted([*HISTORY, *reports], key=_seen)
        _, events = watch(*observations, tick(100_000))
        return [json_line(event) for event in events]

    late = [replace(report, at_ms=report.at_ms + delay) for report, delay in zip(order, delays, strict=True)]
    assert reported([*late, *doubled]) == reported(REPORTS)


@settings(max_examples=examples())
@given(st.lists(st.sampled_from(REPORTS), unique_by=lambda report: report.event.event_id), st.integers(50_000, 90_000))
def test_later_evidence_raises_the_revision_and_only_tightens(known, at):
    tracker, events = watch(*sorted([*HISTORY, *known], key=_seen), tick(49_000))
    counters = tracker.view("g").counters
    revised = feed(tracker, *(replace(report, at_ms=T0 + at) for report in REPORTS), tick(100_000))
    first = {event.event_id: event for event in events}
    for event in revised:
        assert isinstance(event, GenerationEvent)
        before = first[event.event_id]
        assert event.revision == before.revision + 1
        assert replace(event, revision=0) != replace(before, revision=0)
        if event.closes_episode and before.stall is not None:
            assert event.stall is not None
            assert event.stall.basis is Basis.EXACT or before.stall.basis is Basis.BOUND
    after = tracker.view("g").counters
    assert (after.completed, _counted(after), after.moved, after.stalled_partition_seconds) == (
        counters.completed,
        _counted(counters),
        counters.moved,
        counters.stalled_partition_seconds,
    )


@settings(max_examples=examples())
@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=20))
def test_scraped_partition_seconds_never_fall(times):
    tracker = Tracker("cluster")
    scraped = []
    steps = sorted([*HISTORY, *(tick(at) for at in times)], key=_seen)
    for observation in steps:
        tracker.observe(observation)
        if view := tracker.view("g"):
            scraped.append(partition_seconds_at(view, _seen(observation) + 900))
    assert scraped == sorted(scraped)
    assert [total for _, total in scraped] == sorted(total for _, total in scraped)


def _seen(observation):
    if isinstance(observation, GroupsListed):
        return observation.answered_ms
    return observation.seen_ms if hasattr(observation, "seen_ms") else observation.at_ms


def _counted(counters):
    return {basis: histogram for basis, histogram in counters.stalls.items() if any(histogram.counts)}
