from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import GroupGoneEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.runtime.sinks.split_events import event_lines, whole_events
from support.observer.fakes import generation_event


def _generation(members):
    return generation_event(members=tuple(members))


def _member(number, user_data=b""):
    return MemberSnapshot(f"m{number}", None, "c", "/h", ("t",), {}, {"t": (number,)}, user_data=user_data)


def test_an_event_within_the_limit_is_not_split():
    event = _generation([_member(0)])
    assert event_lines(event) == [(event, json_line(event))]


def test_parts_are_numbered_with_their_own_ids_and_the_first_keeps_the_events_id():
    event = _generation(_member(number) for number in range(50))
    parts = [part for part, _ in event_lines(event, 2_000)]
    assert len(parts) > 5
    assert [part.part for part in parts] == list(range(len(parts)))
    assert {part.parts for part in parts} == {len(parts)}
    assert parts[0].event_id == event.event_id
    assert len({part.event_id for part in parts}) == len(parts)
    again = [part for part, _ in event_lines(event, 2_000)]
    assert again == parts


@given(sizes=st.lists(st.integers(0, 300), max_size=60), limit=st.integers(1_500, 6_000))
def test_every_member_is_in_one_part_and_every_part_is_within_the_limit(sizes, limit):
    event = _generation(_member(number, b"x" * size) for number, size in enumerate(sizes))
    parts = event_lines(event, limit)
    assert tuple(member for part, _ in parts for member in part.members) == event.members
    for part, line in parts:
        assert len(line) <= limit
        assert line == json_line(part)
        whole = dataclasses.replace(part, members=event.members, part=0, parts=1, event_id=event.event_id)
        assert whole == event


def test_an_event_that_cannot_be_split_is_unchanged():
    large = _generation([_member(0, b"x" * 5_000)])
    ((part, line),) = event_lines(large, 1_000)
    assert part.members == large.members
    assert len(line) > 1_000
    gone = GroupGoneEvent("id", "c", "g" * 2_000, 1, Source.RECORDS, GroupType.CLASSIC)
    assert event_lines(gone, 100) == [(gone, json_line(gone))]


@pytest.mark.no_cover  # many times over what others count
@given(st.integers(1, 60), st.integers(400, 3_000))
def test_joined_parts_equal_the_split_event(members, size_max):
    event = _generation(_member(number) for number in range(members))
    gone = GroupGoneEvent("id", "c", "g", 2_000, Source.RECORDS, GroupType.CLASSIC)
    parts = [part for part, _ in event_lines(event, size_max)]
    assert list(whole_events([gone, *parts, gone])) == [gone, event, gone]
    # Reported twice, by two replicas one after the other.
    assert list(whole_events([*parts, *parts])) == [event, event]


def test_parts_of_two_events_never_become_one():
    one = _generation(_member(number) for number in range(50))
    other = dataclasses.replace(one, event_id="other", timestamp_ms=2_000)
    parts, others = ([part for part, _ in event_lines(event, 2_000)] for event in (one, other))
    assert len(parts) == len(others) > 2
    assert list(whole_events([*parts[:-1], others[-1]])) == []
    assert list(whole_events([parts[0], *others])) == [other]


def test_an_event_with_a_missing_part_is_omitted():
    event = _generation(_member(number) for number in range(50))
    parts = [part for part, _ in event_lines(event, 2_000)]
    assert len(parts) > 3
    for missing in range(len(parts)):
        assert list(whole_events([*parts[:missing], *parts[missing + 1 :]])) == []
