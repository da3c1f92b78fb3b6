"""Events of a group do not depend on when its topics get their names."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochMember, MemberTarget
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.groups import LATE_MAX_MS
from rebalance_agent.tracking.observations import TopicsSeen
from rebalance_agent.tracking.rebalance.episodes.group_episodes import REVISABLE_MAX
from rebalance_agent.tracking.tracker import Tracker
from support.examples import examples
from support.tracker.epoch_model import EpochCoordinator
from support.tracker.epochs import ID
from support.tracker.tracking import T0, WHOLE, feed, in_time, tick

COUNTS = {"t": 2, "u": 2, "v": 2}
IDS = {"t": "id-of-t", "u": "id-of-u", "v": "a-s-id"}  # ids in another order than the names
PLACES = [(topic, number) for topic, count in COUNTS.items() for number in range(count)]
SETTLE_MS = 1_000
ACTIONS = ["join", "join", "leave", "settle", "settle", "assign", "beat", "beat"]
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(ACTIONS), st.sampled_from([1, 50, 900, 3_000, 20_000])),
    min_size=4,
    max_size=30,
)
TYPES = st.sampled_from([GroupType.CONSUMER, GroupType.SHARE])
NAMED = st.tuples(*(st.one_of(st.integers(0, 40_000), st.integers(0, 400_000)) for _ in IDS))
"""The time at which each topic gets its name, from before the first record to long after the last one."""


def history(steps, group_type):
    """The records of a group over several topics, and when it ends."""
    coordinator = EpochCoordinator(len(PLACES), group_type=group_type)
    for name, action, wait_ms in steps:
        if action == "settle":
            coordinator.at += wait_ms
            coordinator.settle()
        else:
            coordinator.step(name, action, wait_ms)
    coordinator.settle()
    return [spread(record) for batch in coordinator.batches for record in batch], coordinator.at


def spread(record):
    """The same with the partitions of the model's one topic as those of several."""
    match record.value:
        case EpochMember():
            return replace(record, value=replace(record.value, topics=tuple(COUNTS)))
        case MemberTarget():
            return replace(record, value=replace(record.value, assigned=_spread(record.value.assigned)))
        case CurrentAssignment(assigned=assigned, revoking=revoking):
            value = replace(record.value, assigned=_spread(assigned), revoking=_spread(revoking))
            return replace(record, value=value)
    return record


def _spread(partitions):
    spread = {}
    for each in partitions.get(ID, ()):
        topic, number = PLACES[each]
        spread[IDS[topic]] = (*spread.get(IDS[topic], ()), number)
    return spread


def lists(named_ms):
    """The cluster's topics from the beginning; each one's id is known from its given time on."""
    since = dict(zip(IDS, named_ms, strict=True))
    return [
        TopicsSeen(T0 + at, COUNTS, {topic: topic_id for topic, topic_id in IDS.items() if since[topic] <= at})
        for at in sorted({0, *named_ms})
    ]


def observed(*observations):
    """The events of a tracker."""
    tracker = Tracker("cluster", settle_ms=SETTLE_MS)
    return feed(tracker, WHOLE, *in_time(*observations))


def final(events):
    """The highest revision of each generation, with revision 0."""
    return {event.event_id: replace(event, revision=0) for event in events if isinstance(event, GenerationEvent)}


AMID_AN_EPOCH = [("a", "join", 3_000), ("a", "assign", 3_000), ("b", "join", 1), ("a", "beat", 1)]


@settings(max_examples=examples())
@given(STEPS, TYPES, NAMED)
@example(AMID_AN_EPOCH, GroupType.CONSUMER, (7_006, 7_006, 7_006))
def test_the_highest_revision_has_names(steps, group_type, named_ms):
    records, ended = history(steps, group_type)
    end = tick(max(ended, *named_ms) + 200_000)
    late = final(observed(*lists(named_ms), *records, end))
    early = final(observed(*lists((0, 0, 0)), *records, end))
    assert list(late) == list(early)
    by_then = [each for each in (*lists(named_ms), *records) if _at(each) < T0 + max(named_ms)]
    reported = final(observed(*by_then, tick(max(named_ms) - 1)))
    for event_id in [*late][max(0, len(reported) - REVISABLE_MAX) :]:
        assert late[event_id] == early[event_id]


@settings(max_examples=examples())
@given(STEPS, TYPES, NAMED, st.integers(20_000, LATE_MAX_MS))
def test_the_interval_of_ticks_changes_nothing(steps, group_type, named_ms, period_ms):
    records, ended = history(steps, group_type)
    end = tick(max(ended, *named_ms) + 200_000)
    often = [tick(at - T0) for at in sorted({*map(_at, records), *range(T0, end.at_ms, 2_500)})]
    rare = map(tick, range(0, end.at_ms - T0, period_ms))
    reported = [*lists(named_ms), *records, end]
    assert _lines(observed(*reported, *often)) == _lines(observed(*reported, *rare))


def _lines(events):
    return [json_line(event) for event in events]


def _at(observation):
    return observation.at_ms if isinstance(observation, TopicsSeen) else observation.seen_ms
