"""Reports of a rebalance before which compaction may have removed others while no observer ran."""

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.model.events import AbortedEvent, Callback
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, group_of_two, target
from support.tracker.tracking import WHOLE, closing, feed, listed, member, record, said, tick, topics

A, B = member("a", (0, 1)), member("b", (2, 3))
BEFORE = (topics(0, t=4), replace(record(4_000, 4, A, B), live=False, replayed=True), WHOLE)
EPOCH_6 = (
    fact(60_000, GroupEpoch(6)),
    target(60_000, "a", 0, 1, 2),
    target(60_000, "b", 3),
    fact(60_000, TargetEpoch(6)),
    current(60_500, "b", 6, (3,)),
    current(60_600, "a", 6, (0, 1, 2)),
)


def again(at, number, *members, gap=True):
    """A record written while no observer ran, read from the position of the snapshot."""
    seen_ms = record(90_000, 1).seen_ms
    return replace(record(at, number, *members), replayed=True, gap_offset=0 if gap else -1, seen_ms=seen_ms)


def events_of(*observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    return closing(feed(tracker, *observations, tick(200_000))), tracker.view("g").counters


def reported(event):
    return event.trigger, event.moved, event.revoked, event.lost, event.lost_min, event.needed, event.noop, event.stall


def test_a_generation_after_compacted_ones_is_reported_without_comparison():
    failed = said(Callback.LOST, "a", 50_000, 50_010, 4, (0, 1))
    (event,), counters = events_of(*BEFORE, failed, again(60_000, 9, member("c", (0, 1, 2, 3))))
    assert reported(event) == (Trigger.UNKNOWN, None, None, None, None, None, False, None)
    assert (event.previous_generation, event.generation) == (4, 9)  # four records are compacted
    assert (event.assigned, counters.moved, counters.revoked, counters.lost) == (4, 0, 0, 0)


def test_consecutive_generations_and_offsets_without_a_gap_are_complete():
    (event,), _ = events_of(*BEFORE, again(60_000, 5, member("a", (0, 1, 2, 3))))
    assert (event.trigger, event.moved) == (Trigger.MEMBER_GONE, 2)
    (event,), _ = events_of(*BEFORE, again(60_000, 7, member("a", (0, 1, 2, 3)), gap=False))
    assert (event.trigger, event.moved) == (Trigger.MEMBER_GONE, 2)


def test_the_following_rebalance_is_reported_completely():
    events, counters = events_of(
        *BEFORE,
        again(60_000, 9, A, B),
        listed(95_000),
        listed(95_200, "g"),
        record(96_000, 10, member("a", (0, 1, 2, 3))),
    )
    assert [event.trigger for event in events] == [Trigger.UNKNOWN, Trigger.MEMBER_GONE]
    assert (events[-1].moved, counters.moved) == (2, 2)


def test_an_epoch_after_compacted_ones_is_reported_without_comparison():
    """Its epochs may also be replaced before all members reach them: without an offset gap nothing is missing."""
    known = group_of_two((0, 1), (2, 3))
    for gap, expected in ((True, (Trigger.UNKNOWN, None)), (False, (Trigger.REJOIN, 1))):
        events, _ = events_of(*known, *(replace(one, gap_offset=0 if gap else -1, replayed=True) for one in EPOCH_6))
        assert (events[-1].trigger, events[-1].moved, events[-1].previous_generation) == (*expected, 2)


OUTAGE = (listed(50_000), listed(59_000, complete=False))


def unread(observation, offset):
    """A record read after an outage: compaction has removed records between it and the group's last one."""
    return replace(observation, gap_offset=offset, offset=offset)


@pytest.mark.parametrize("outage", [True, False])
def test_missing_numbers_after_an_outage_with_missing_offsets_are_no_aborted_generations(outage):
    """The only broker left writes records; they become readable, and are compacted, when the others are back."""
    tracker = Tracker("cluster", settle_ms=1_000)
    polls = OUTAGE if outage else (listed(50_000), listed(59_000))
    first = replace(record(40_000, 5, A, B), offset=447)
    events = feed(tracker, *BEFORE, first, *polls, unread(record(60_000, 9, A), 522), tick(200_000))
    aborted = [event.generation for event in events if isinstance(event, AbortedEvent)]
    last = closing(events)[-1]
    assert (last.generation, last.previous_generation) == (9, 5)
    assert aborted == ([] if outage else [6, 7, 8])  # without an outage the missing offset is a transaction marker
    assert (last.trigger is Trigger.UNKNOWN) == outage
    assert tracker.view("g").counters.aborted == len(aborted)


def test_a_lagging_tail_hides_no_outage():
    """While the tail lags, the coordinators' clocks seem to be behind."""
    tracker = Tracker("cluster", settle_ms=1_000)
    first = replace(record(40_000, 5, A, B), offset=447)
    late = [record(20_000 + number, number, A, group="h", delay=40_000) for number in range(100)]
    last = unread(record(58_000, 9, A, delay=40_000), 522)
    events = feed(tracker, *BEFORE, first, *OUTAGE, *late, listed(65_000), last, tick(200_000))
    assert not [event.generation for event in events if isinstance(event, AbortedEvent)]


def test_a_gap_before_the_last_record_of_the_group_hides_nothing_after_it():
    tracker = Tracker("cluster", settle_ms=1_000)
    first = replace(record(60_000, 5, A, B), offset=523)
    again = replace(unread(record(61_000, 7, A), 530), gap_offset=522)
    events = feed(tracker, *BEFORE, *OUTAGE, first, again, tick(200_000))
    assert [event.generation for event in events if isinstance(event, AbortedEvent)] == [6]


def test_missing_epochs_after_an_outage_with_missing_offsets_are_unknown():
    later = [unread(one, 500 + index) for index, one in enumerate(EPOCH_6)]
    for polls, expected in ((OUTAGE, Trigger.UNKNOWN), ((listed(50_000), listed(59_000)), Trigger.REJOIN)):
        events, _ = events_of(*group_of_two((0, 1), (2, 3)), *polls, *later)
        assert (events[-1].trigger, events[-1].previous_generation) == (expected, 2)


def test_the_moves_of_the_first_rebalance_of_an_older_group_are_unknown():
    (event,), _ = events_of(topics(0, t=4), record(60_000, 7, A, B))
    assert reported(event) == (Trigger.UNKNOWN, None, None, None, None, None, False, None)
