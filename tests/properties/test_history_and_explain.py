"""The history is bounded and ordered for any events in any order, and can always be explained."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.api.history import EpisodeHistory, HistoryLimits
from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.routes import SORT_KEYS
from rebalance_agent.model.episode import Basis, FailureReason, Source, Stall, Trigger
from rebalance_agent.model.events import AbortedEvent, Callback, GroupGoneEvent, MemberEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.reported.workload import Workload
from support.examples import examples
from support.http.api import api_of
from support.observer.explaining import explain
from support.observer.fakes import generation_event
from support.observer.views import full_view

GROUPS = st.sampled_from("ab")
NAMES = st.sampled_from(["m1", "m2", "m3", "\x1b[2J"])
NUMBERS = st.integers(-1, 6)
MEMBERS = st.dictionaries(NAMES, st.sets(st.integers(0, 5), max_size=3), max_size=3).map(
    lambda owned: tuple(
        MemberSnapshot(name, None, f"c-{name}", "/h", ("t",), {}, {"t": tuple(sorted(numbers))} if numbers else {})
        for name, numbers in owned.items()
    )
)
STALLS = st.none() | st.builds(
    Stall, st.floats(0, 9e9), st.floats(0, 9e9), st.floats(0, 9e9), st.sampled_from(list(Basis))
)


@st.composite
def generations(draw):
    number = draw(NUMBERS)
    return generation_event(
        event_id=f"{number}-{draw(st.integers(0, 2))}",
        group=draw(GROUPS),
        timestamp_ms=draw(st.integers(-1, 1 << 62)),
        generation=number,
        previous_generation=draw(st.none() | NUMBERS),
        episode_generation=draw(NUMBERS),
        closes_episode=draw(st.booleans()),
        followups=draw(st.integers(0, 2)),
        protocol=draw(st.sampled_from(list(RebalanceProtocol))),
        causes=tuple(draw(st.lists(st.sampled_from(list(Trigger)), min_size=1, max_size=12))),
        stall=draw(STALLS),
        members=draw(MEMBERS),
        moved=draw(st.integers(0, 9)),
        needed=draw(st.none() | st.integers(0, 9)),
        unassigned=draw(st.integers(0, 2)),
        noop=draw(st.booleans()),
        slowest_member_id=draw(st.none() | NAMES),
        slowest_seconds=draw(st.none() | st.floats(0, 9e9)),
        revision=draw(st.integers(0, 2)),
    )


@st.composite
def others(draw):
    group, number, at_ms = draw(GROUPS), draw(NUMBERS), draw(st.integers(0, 10_000))
    kind = GroupType.CLASSIC
    name = draw(NAMES)
    return draw(
        st.sampled_from(
            [
                AbortedEvent(f"x{number}", "c", group, at_ms, Source.RECORDS, kind, number, FailureReason.ABORTED),
                GroupGoneEvent("gone", "c", group, at_ms, Source.RECORDS, kind),
                MemberEvent(
                    event_id=f"{at_ms}",
                    group=group,
                    timestamp_ms=at_ms,
                    callback=draw(st.sampled_from(list(Callback))),
                    client_id="c",
                    member_id=name,
                    generation=number,
                    started_ms=draw(st.integers(0, 20_000)),
                    partitions={},
                    process="p",
                    sequence=1,
                    where=Workload(pod=name),
                ),
            ]
        )
    )


EVENTS = st.lists(generations() | others(), max_size=25)


@settings(max_examples=examples(60))
@given(EVENTS)
def test_the_history_is_bounded_and_can_be_requested(events):
    limits = HistoryLimits(rebalances=3, rollouts=1, reports=4, groups=1, size_bytes=8_000)
    history = EpisodeHistory(limits)
    for event in events:
        history.on_event(event)
        known = {group: history.rebalances(group) for group in "ab"}
        assert sum(each is not None for each in known.values()) <= limits.groups
        assert 0 <= history.size_bytes <= limits.size_bytes
        for group, each in known.items():
            lines = each.rebalances if each else ()
            assert len(lines) <= limits.rebalances
            assert len({line.id for line in lines}) == len(lines)
            for line in lines:
                assert history.rebalance(group, line.id).rebalance == line


@settings(max_examples=examples(60))
@given(EVENTS)
def test_any_history_can_be_explained(events):
    text = explain([replace(event, group="g") for event in events], last=10)
    assert all(line.isprintable() for line in text.splitlines())


@settings(max_examples=examples(60))
@given(st.sampled_from([*SORT_KEYS, *(f"-{key}" for key in SORT_KEYS)]), st.integers(0, 7), st.integers(0, 7))
def test_pages_of_any_order_hold_every_group_once(sort, offset, limit):
    views = [full_view(f"g{number}", skew_ratio=number / 2 if number % 2 else None) for number in range(6)]
    api, *_ = api_of(*views)
    whole = [each.group for each in api.groups(GroupQuery(sort=sort)).groups]
    assert sorted(whole) == [view.group for view in views]
    page = api.groups(GroupQuery(sort=sort, offset=offset, limit=limit))
    assert [each.group for each in page.groups] == whole[offset : offset + limit]
