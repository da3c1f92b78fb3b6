"""The ledger and the tracker share no code and agree; the ledger detects any change of the events."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rebalance_agent.model.events import GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.tracking.observations import Tick
from rebalance_agent.tracking.tracker import Tracker
from support.examples import examples
from support.observer.posted import ledger_of, posted
from support.tracker.epoch_model import EpochCoordinator
from support.tracker.epochs import ID, named
from support.tracker.random_groups import group_records
from support.tracker.tracking import T0, WHOLE, feed, topics

PARTITIONS = 5
STATIC = {GroupType.CONSUMER: ("s",), GroupType.STREAMS: ("s",)}
STEPS = st.lists(
    st.tuples(
        st.sampled_from("abcs"),
        st.sampled_from(["join", "join", "leave", "pause", "assign", "assign", "beat", "beat", "beat", "beat"]),
        st.integers(1, 3_000),
    ),
    max_size=40,
)


def _reported(observations, seen):
    tracker = Tracker("cluster", settle_ms=1_000)
    last_ms = max((each.timestamp_ms for each in observations), default=T0)
    return feed(tracker, seen, WHOLE, *observations, Tick(last_ms + 400_000))


def _facts(events):
    return [event for event in events if event.KIND != "rollout"]


@st.composite
def _classic(draw):
    log = sorted((draw(group_records("g")) + draw(group_records("h"))), key=lambda each: each[1].timestamp_ms)
    observations = [record for _, record in log]
    return observations, _reported(observations, topics(0, t=4)), {}


@st.composite
def _assigned(draw):
    group_type = draw(st.sampled_from([GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS]))
    coordinator = EpochCoordinator(PARTITIONS, group_type=group_type, static=STATIC.get(group_type, ()))
    for step in draw(STEPS):
        coordinator.step(*step)
    coordinator.settle()
    if draw(st.booleans()):
        coordinator.delete()
    observations = [record for batch in coordinator.batches for record in batch]
    return observations, _reported(observations, named(t=PARTITIONS)), {ID: "t"}


HISTORIES = _classic() | _assigned()


def _report(observations, events, names):
    records = [posted(each, offset) for offset, each in enumerate(observations)]
    return ledger_of(events, records, names=names, reports=True)


@settings(max_examples=examples())
@given(HISTORIES)
def test_ledger_and_tracker_agree(history):
    observations, events, names = history
    report = _report(observations, events, names)
    assert list(map(str, report.differences)) == []
    assert report.agreed == len(_facts(events))
    assert report.unjudged == {}


@settings(max_examples=examples(50))
@given(HISTORIES, st.data())
def test_an_omitted_event_is_missing_unless_it_is_reported_elsewhere(history, data):
    observations, events, names = history
    assume(_facts(events))
    left_out = data.draw(st.sampled_from(_facts(events)))
    reported = [event for event in events if event.event_id != left_out.event_id]
    report = _report(observations, reported, names)
    assert any("has no event" in each.what and each.group == left_out.group for each in report.differences)
    twice = _report(observations, [*events, left_out], names)
    assert (twice.clean, twice.copies) == (True, 1)


def _changes(event):
    """Ways in which an event may be wrong, each as a different event."""
    yield replace(event, moved=event.moved + 1)
    yield replace(event, revoked=event.revoked + 1)
    yield replace(event, lost=None, lost_min=event.lost_min + 1)
    yield replace(event, assigned=event.assigned + 1)
    yield replace(event, previous_generation=event.previous_generation - 1)
    yield replace(event, followups=event.followups + 1)
    yield replace(event, noop=not event.noop)
    yield replace(event, episode_generation=event.episode_generation - 1)
    if event.members:
        first, *others = event.members
        yield replace(event, members=(*others,))
        yield replace(event, members=(replace(first, assigned={"t": (99,)}), *others))
        yield replace(event, members=(replace(first, client_id="somebody"), *others))
        if others and first.assigned != others[0].assigned:
            swapped = replace(first, assigned=others[0].assigned), replace(others[0], assigned=first.assigned)
            yield replace(event, members=(*swapped, *others[1:]))
    if event.stall:
        yield replace(event, stall=replace(event.stall, lower_seconds=event.stall.seconds + 1))
        yield replace(event, stall=replace(event.stall, lower_seconds=90_000.0, seconds=90_000.0))


@settings(max_examples=examples(50))
@given(HISTORIES, st.data())
def test_every_wrong_field_of_an_event_is_detected(history, data):
    observations, events, names = history
    known = [
        event
        for event in events
        if isinstance(event, GenerationEvent) and event.closes_episode and event.previous_generation is not None
    ]
    assume(known)
    right = data.draw(st.sampled_from(known))
    wrong = data.draw(st.sampled_from(list(_changes(right))))
    reported = [wrong if event is right else event for event in events]
    found = _report(observations, reported, names).differences
    assert found
    assert {each.group for each in found} == {right.group}


@settings(max_examples=examples(50))
@given(HISTORIES, st.data())
def test_invented_events_are_detected(history, data):
    observations, events, names = history
    facts = [event for event in _facts(events) if not isinstance(event, GroupGoneEvent)]
    assume(facts)
    true = data.draw(st.sampled_from(facts))
    known = true.KIND, "cluster", true.group, true.group_type, 1_000, true.timestamp_ms
    invented = replace(true, generation=1_000, event_id=event_id(*known))
    found = _report(observations, [*events, invented], names).differences
    assert [(each.number, "has no record" in each.what) for each in found] == [(1_000, True)]


@settings(max_examples=examples(50))
@given(HISTORIES, st.integers(0, 200))
def test_compaction_reduces_findings_and_causes_no_false_one(history, cut):
    observations, events, names = history
    keys = [(type(each), each.group, getattr(each, "kind", 0), getattr(each, "subject", "")) for each in observations]
    last = {key: at for at, key in enumerate(keys[:cut])}
    left = sorted(last.values()) + list(range(min(cut, len(observations)), len(observations)))
    records = [posted(observations[offset], offset) for offset in left]
    report = ledger_of(events, records, names=names, reports=True)
    assert list(map(str, report.differences)) == []
    if len(left) == len(observations):
        assert report.agreed == len(_facts(events))
