"""The first rebalance after an observer's start names members as each later one: it began from a backfilled record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.runtime.watch.event_sinks import GenerationsBefore
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.ui.sentences.explanation import explanation_of
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, move_rows, moves_title
from support.tracker.tracking import T0, WHOLE, feed, listed, member, record, tick

A, B = member("a", (0, 1)), member("b", (2, 3))
BEFORE = record(0, 4, A, B, live=False)
JOINED = record(10_000, 5, A, member("b", (2,)), member("c", (3,)))


def observed(*records):
    """The tracker and the history of an observer that was ready at `T0`, after ticks that settle everything."""
    tracker, history = Tracker("cluster"), EpisodeHistory()
    listener = GenerationsBefore(tracker.generations_before, history)
    for observation in (*records, tick(40_000)):
        for event in feed(tracker, observation):
            history.on_event(event)
        listener.on_observation(observation)
    return tracker, history


def details(history):
    return [history.rebalance("g", line.id) for line in history.rebalances("g").rebalances]


def explained(*records):
    _, history = observed(*records)
    return [paragraph.text for paragraph in explanation_of(details(history), (), 9).rebalances]


def test_a_member_that_joins_first_is_named_with_what_it_got():
    (text,) = explained(BEFORE, WHOLE, JOINED)
    assert text.startswith("Why: client-c (10.0.0.1) joined.")
    assert "1 partition moved: t 3 from client-b to client-c." in text


def test_a_member_that_leaves_first_is_named():
    (text,) = explained(BEFORE, WHOLE, listed(1_000, "g"), record(10_000, 5, member("a", (0, 1, 2, 3))))
    assert text.startswith("Why: client-b (10.0.0.1) is gone (left or failed")
    assert "2 partitions moved: t 2-3 from client-b to client-a." in text


def test_later_rebalances_begin_from_the_published_one():
    _, history = observed(BEFORE, WHOLE, JOINED, record(20_000, 6, A, B))
    later, first = details(history)
    assert [event.generation for event in first.before] == [4]
    assert later.before == ()


def test_a_generation_that_was_not_observed_stays_unknown():
    _, history = observed(WHOLE, JOINED)
    (detail,) = details(history)
    assert detail.before == ()
    (text,) = explained(WHOLE, JOINED)
    assert text.startswith("Why: unknown, because the previous generation was not observed.")


def test_records_that_compaction_may_have_removed_leave_the_cause_unknown():
    missing = replace(JOINED, replayed=True, gap_offset=9, offset=10, value=replace(JOINED.value, generation=7))
    records = replace(BEFORE, offset=1), WHOLE, missing
    _, history = observed(*records)
    assert [detail.before for detail in details(history)] == [()]
    (text,) = explained(*records)
    assert "compaction may have removed the records of 2 generations" in text


def test_the_page_lists_the_moves_of_the_first_rebalance():
    tracker, history = observed(BEFORE, WHOLE, JOINED)
    (detail,) = details(history)
    close_up = GroupCloseUp(build_detail(tracker.view("g"), T0 + 40_000), (detail.rebalance,), detail, None)
    rows = move_rows(close_up)
    assert rows == [("t", "3", "client-b", "client-c")]
    assert moves_title(close_up, rows) == "moves from generation 4 to 5: 1 partition"


def test_a_revision_of_the_first_rebalance_keeps_its_beginning():
    _, history = observed(BEFORE, WHOLE, JOINED)
    (first,) = details(history)
    (event,) = first.events
    history.on_event(replace(event, revision=1))
    (revised,) = details(history)
    assert (revised.rebalance.revision, revised.before) == (1, first.before)


def test_generations_before_take_memory_of_the_history():
    _, history = observed(BEFORE, WHOLE, JOINED)
    (detail,) = details(history)
    only_published = EpisodeHistory()
    only_published.on_event(detail.events[0])
    assert history.size_bytes > only_published.size_bytes


@pytest.mark.parametrize("group", ["g", "unknown"])
def test_a_beginning_without_its_rebalance_is_not_kept(group):
    _, history = observed(BEFORE, WHOLE, JOINED)
    (first,) = details(history)
    history.on_generation_before(replace(first.before[0], group=group, generation=99))
    assert details(history) == [first]
    assert history.rebalances("unknown") is None
