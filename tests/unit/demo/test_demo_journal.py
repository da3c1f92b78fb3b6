from __future__ import annotations

from rebalance_agent.demo.observed.journal import EVENTS_MAX, Journal, slowest_client
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType
from support.observer.demo_events import generation_event, snapshot


def test_a_higher_revision_replaces_a_lower_one_in_whatever_order_they_come():
    first, better = generation_event(moved=1), generation_event(moved=2, revision=1)
    for order in ((first, better), (better, first)):
        assert Journal(order).generations("g") == [better]


def test_episodes_are_the_closing_events_in_order():
    opening = generation_event(2, closes_episode=False)
    closing = [generation_event(number) for number in (1, 3, 4, 5)]
    journal = Journal([*reversed(closing), opening])
    assert [event.generation for event in journal.episodes("g")] == [1, 3, 4, 5]
    assert journal.newest("g").generation == 5


def test_a_generation_that_was_split_by_member_is_whole_again():
    parts = [
        generation_event(part=part, parts=2, members=(snapshot(f"m-{part}", f"c-{part}", part),)) for part in (1, 0)
    ]
    (whole,) = Journal(parts).generations("g")
    assert [member.member_id for member in whole.members] == ["m-0", "m-1"]


def test_other_kinds_and_unknown_groups_are_nothing():
    gone = GroupGoneEvent("id", "c", "g", 1, Source.RECORDS, GroupType.CLASSIC)
    journal = Journal([gone])
    assert journal.newest("g") is None
    assert journal.episodes("g") == []


def test_a_demo_that_runs_all_day_keeps_the_newest():
    journal = Journal(generation_event(number) for number in range(EVENTS_MAX + 10))
    assert len(journal.generations("g")) == EVENTS_MAX
    assert journal.newest("g").generation == EVENTS_MAX + 9


def test_the_slowest_member_is_named_by_its_client_id():
    assert slowest_client(generation_event()) == "two"
    assert slowest_client(generation_event(slowest_member_id=None)) is None
