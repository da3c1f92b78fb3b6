"""The ledger's findings, case by case; a property tests that it agrees with the tracker."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from rebalance_agent.audit import ledger
from rebalance_agent.audit.audit_report import Difference, Differences
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group_event import event_id
from rebalance_agent.runtime.sinks.split_events import event_lines
from rebalance_agent.tracking.observations import Tick
from rebalance_agent.tracking.tracker import Tracker
from support.observer.posted import ledger_of, posted
from support.tracker.tracking import T0, feed, member, record, tombstone, topics

EAGER = (
    record(0, 0),
    record(1_000, 1, member("a", (0, 1, 2, 3)), joined=900),
    record(5_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=4_500),
    record(9_000, 3, member("a", (0, 1, 2, 3)), joined=8_990),
)


def reported(*observations):
    last_ms = max(each.timestamp_ms for each in observations)
    return list(feed(Tracker("cluster", settle_ms=1_000), topics(0, t=4), *observations, Tick(last_ms + 400_000)))


def report(events, observations, offsets=None, **window):
    offsets = offsets or range(len(observations))
    return ledger_of(events, [posted(*each) for each in zip(observations, offsets, strict=True)], **window)


def said(found):
    return [(each.group, each.number, each.what) for each in found.differences]


def test_correct_events_are_counted_and_reported_in_one_line():
    found = report(reported(*EAGER), EAGER)
    assert (found.clean, found.agreed, found.copies, found.pending, found.unjudged) == (True, 3, 0, 0, {})
    assert found.summary() == "no difference; 3 facts of 1 groups were published correctly and exactly once"


def test_a_difference_names_group_generation_record_and_event():
    events = reported(*EAGER)
    events[1] = replace(events[1], moved=1)
    (difference,) = report(events, EAGER).differences
    expected = "'g' 2: generation 2: moved is 2 in the records, 1 in the event (__consumer_offsets-0@2, events:2)"
    assert str(difference) == expected


def test_a_generation_without_an_event_is_a_difference():
    events = reported(*EAGER)
    del events[1]
    assert ("g", 2, "generation 2 has no event") in said(report(events, EAGER))


def test_records_before_the_window_need_not_be_reported():
    events = reported(*EAGER)[1:]
    found = report(events, EAGER, since_ms=T0 + 2_000)
    assert (found.clean, found.unjudged) == (True, {"older than the compared events": 1})


def test_recent_records_may_be_reported_later():
    events = reported(*EAGER)[:-1]
    found = report(events, EAGER, until_ms=T0 + 10_000, grace_ms=5_000)
    assert (found.clean, found.pending) == (True, 1)
    assert not report(events, EAGER, until_ms=T0 + 20_000, grace_ms=5_000).clean


def test_a_cooperative_generation_may_wait_for_its_follow_up_for_minutes():
    first = record(0, 1, member("a", (0, 1, 2, 3)), protocol="cooperative-sticky")
    second = record(
        1_000, 2, member("a", (0, 1), owned=(0, 1, 2, 3)), member("b"), protocol="cooperative-sticky", joined=990
    )
    events = reported(first)
    assert report(events, (first, second), until_ms=T0 + 60_000, grace_ms=5_000).pending == 1
    assert not report(events, (first, second), until_ms=T0 + 600_000, grace_ms=5_000).clean


def test_events_of_an_observer_that_started_later_are_clean_and_counted_as_unjudged():
    events = reported(*EAGER[2:])
    found = report(events, EAGER, since_ms=T0 + 4_000)
    assert found.clean
    assert found.unjudged == {"older than the compared events": 1, "without a known predecessor": 1}


def test_an_equal_event_is_a_copy_and_a_different_one_with_the_same_id_a_difference():
    events = reported(*EAGER)
    again = report([*events, events[1]], EAGER)
    assert (again.clean, again.copies) == (True, 1)
    other = replace(events[1], members=events[1].members[:1])
    assert ("g", 2, "it was published twice, with different members") in said(report([*events, other], EAGER))


def test_the_highest_revision_counts_in_any_order():
    events = reported(*EAGER)
    wrong = replace(events[1], moved=9)
    better = replace(events[1], revision=1)
    assert report([events[0], wrong, better, events[2]], EAGER).clean
    assert report([events[0], better, wrong, events[2]], EAGER).clean
    assert not report([events[0], events[1], replace(wrong, revision=1), events[2]], EAGER).clean


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_copies_that_a_better_revision_replaces_need_not_agree(order):
    """Readers keep the highest revision, so neither of the two remains."""
    events = reported(*EAGER)
    other = replace(events[1], members=events[1].members[:1])
    better = replace(events[1], revision=1)
    copies = [(events[1], other, better)[each] for each in order]
    assert said(report([events[0], *copies, events[2]], EAGER)) == []
    worse = replace(other, revision=1)
    assert ("g", 2, "it was published twice, with different members") in said(report([*events, better, worse], EAGER))


def test_the_first_of_equal_revisions_counts_as_for_readers():
    events = reported(*EAGER)
    wrong = replace(events[1], moved=9, followups=1)
    assert report([*events, wrong], EAGER).clean
    assert not report([events[0], wrong, *events[1:]], EAGER).clean


def test_copies_of_one_fact_are_counted_and_a_bounded_number_kept():
    events = reported(*EAGER)
    others = [replace(events[1], members=events[1].members[:1])] * 30
    found = report([*events, *others], EAGER)
    assert (found.found, len(found.differences)) == (30, 10)


def test_a_stall_shorter_than_the_records_alone_show_is_wrong():
    events = reported(*EAGER)
    assert events[1].stall is None  # no poll showed the start
    phases = replace(events[1].phases, started_ms=T0 + 4_000)
    stall = reported(*EAGER[:2])[0].stall
    long = replace(stall, lower_seconds=0.5, seconds=1.0, partition_seconds=4.0)
    assert report([events[0], replace(events[1], stall=long, phases=phases), events[2]], EAGER).clean
    short = replace(long, lower_seconds=0.1, seconds=0.2)
    (difference,) = report([events[0], replace(events[1], stall=short), events[2]], EAGER).differences
    assert difference.what == "generation 2: a partition had no owner for 0.5 s, but its stall is at most 0.2 s"


@pytest.mark.parametrize(
    "wrong",
    [
        {"lower_seconds": 2.0, "seconds": 1.0, "partition_seconds": 1.0},
        {"lower_seconds": -1.0, "seconds": 1.0, "partition_seconds": 1.0},
        {"lower_seconds": 0.0, "seconds": 0.0, "partition_seconds": 1.0},
        {"lower_seconds": 3_000.0, "seconds": 3_000.0, "partition_seconds": 1.0},
    ],
)
def test_an_impossible_stall_is_wrong(wrong):
    events = reported(*EAGER)
    stall = replace(reported(*EAGER[:2])[0].stall, **wrong)
    assert not report([events[0], replace(events[1], stall=stall), events[2]], EAGER).clean


def test_phases_that_run_backwards_are_wrong():
    events = reported(*EAGER)
    phases = replace(events[1].phases, started_ms=events[1].timestamp_ms + 1)
    assert not report([events[0], replace(events[1], phases=phases), events[2]], EAGER).clean


def test_parts_of_an_event_are_one_fact():
    members = [member(f"member-{number}", (number,)) for number in range(4)]
    observations = (record(0, 0), record(1_000, 1, *members))
    (event,) = reported(*observations)
    parts = [part for part, _ in event_lines(event, 1_500)]
    assert len(parts) > 1
    random.Random(1).shuffle(parts)
    assert report(parts, observations).agreed == 1
    assert report([*parts, parts[0]], observations).clean
    (difference,) = report(parts[1:] if parts[0].part else parts[:-1], observations).differences
    assert "parts" in difference.what


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (1, 0, 2), (2, 0, 1)])
def test_two_observers_may_publish_one_fact_in_more_parts_or_fewer(order):
    """One event's JSON is slightly below the limit of a record, the other's above."""
    members = [member(f"member-{number}", (number,)) for number in range(4)]
    observations = (record(0, 0), record(1_000, 1, *members))
    (event,) = reported(*observations)
    spread = [part for part, _ in event_lines(event, 1_500)]
    assert len(spread) == 2
    copies = [event, *spread]
    found = report([copies[each] for each in order], observations)
    assert (said(found), found.agreed) == ([], 1)


def test_two_observers_may_publish_a_static_members_return_in_more_parts_or_fewer():
    before = [member(f"member-{number}", (number,), instance=f"instance-{number}") for number in range(4)]
    after = [member("back", (0,), instance="instance-0"), *before[1:]]
    observations = (record(0, 0), record(1_000, 1, *before), record(5_000, 1, *after))
    first, whole = reported(*observations)
    spread = [part for part, _ in event_lines(whole, 1_500)]
    assert len(spread) > 1
    for copies in ([whole, *spread], [*spread, whole]):
        assert said(report([first, *copies], observations)) == []


def test_parts_of_a_static_members_return_are_one_fact_too():
    before = [member(f"member-{number}", (number,), instance=f"instance-{number}") for number in range(4)]
    after = [member("back", (0,), instance="instance-0"), *before[1:]]
    observations = (record(0, 0), record(1_000, 1, *before), record(5_000, 1, *after))
    events = reported(*observations)
    parts = [part for event in events for part, _ in event_lines(event, 1_500)]
    assert [each.part for each in parts if each.timestamp_ms == T0 + 5_000][-1] > 0
    found = report(parts, observations)
    assert said(found) == []
    assert found.agreed == len(events) == 2
    assert not report(parts[:-1], observations).clean


@pytest.mark.parametrize("highest", [0, 1])
@pytest.mark.parametrize("left", [slice(None), slice(2, None)])
def test_a_static_members_return_may_be_revised_in_more_parts_or_fewer(highest, left):
    before = [member(f"member-{number}", (number,), instance=f"instance-{number}") for number in range(4)]
    after = [member("back", (0,), instance="instance-0"), *before[1:]]
    observations = (record(0, 0), record(1_000, 1, *before), record(5_000, 1, *after))
    first, whole = reported(*observations)
    spread = [part for part, _ in event_lines(replace(whole, revision=1 - highest), 1_500)]
    assert len(spread) > 1
    whole, places = replace(whole, revision=highest), range(3)[left]
    posts = [observations[each] for each in places]
    for copies in ([whole, *spread], [*spread, whole]):
        found = report([first, *copies], posts, places)
        assert (said(found), found.agreed) == ([], len([each for each in places if each]))
        wrong = [replace(each, members=()) if each.revision else each for each in copies]
        assert not report([first, *wrong], posts, places).clean


def test_a_first_part_under_another_id_is_not_the_records():
    members = [member(f"member-{number}", (number,)) for number in range(4)]
    observations = (record(0, 0), record(1_000, 1, *members))
    (event,) = reported(*observations)
    first, *others = [part for part, _ in event_lines(event, 1_500)]
    found = report([replace(first, event_id="0" * 32), *others], observations)
    assert said(found) == [
        ("g", 1, "generation 1 has no event"),
        ("g", 1, "generation 1 has no record"),
    ]


def test_a_return_of_a_member_without_its_id_counts_as_a_missing_event():
    before, after = (member(name, (0, 1, 2, 3), instance="one") for name in ("a", "b"))
    observations = (record(0, 0), record(1_000, 1, before), record(5_000, 1, after))
    first, back = reported(*observations)
    nobody = event_id("generation", "cluster", "g", "classic", 1, T0 + 5_000)
    found = report([first, replace(back, event_id=nobody)], observations)
    assert said(found) == [
        ("g", 1, "generation 1 (return of b) has no event"),
        ("g", 1, "generation 1 has no record"),
    ]


def test_in_a_table_a_second_revision_is_a_duplicate_and_parts_are_not():
    events = reported(*EAGER)
    again = report([*events, replace(events[1], revision=1)], EAGER, once=True)
    assert said(again) == [("g", 2, "generation 2 was published twice")]
    members = [member(f"member-{number}", (number,)) for number in range(4)]
    observations = (record(0, 0), record(1_000, 1, *members))
    (event,) = reported(*observations)
    parts = [part for part, _ in event_lines(event, 1_500)]
    assert report(parts, observations, once=True).clean
    # Parts of the first revision that the second one, with fewer parts, does not replace.
    assert report([replace(event, revision=1), *parts[1:]], observations, once=True).clean
    assert said(report([*parts, parts[1]], observations, once=True)) == [("g", 1, "generation 1 was published twice")]


def test_an_invalid_id_belongs_to_no_fact():
    """Every client with the right to write events can write anything."""
    events = reported(*EAGER)
    odd = [replace(events[1], event_id=each) for each in ("", "not hexadecimal", events[1].event_id.upper())]
    expected = ("g", 2, "generation 2 has no record")
    assert said(report([*events, *odd], EAGER)) == [expected] * 3


def test_an_aborted_generation_must_be_reported_and_no_other():
    observations = (*EAGER[:2], record(9_000, 4, member("a", (0, 1, 2, 3))))
    events = reported(*observations)
    assert [each.KIND for each in events].count("aborted") == 2
    assert report(events, observations).clean
    left = [each for each in events if each.KIND != "aborted" or each.generation != 2]
    assert ("g", 2, "aborted generation 2 has no event") in said(report(left, observations))
    aborted = next(each for each in events if each.KIND == "aborted")
    known = "aborted", "cluster", "g", aborted.group_type, 9, aborted.timestamp_ms
    invented = replace(aborted, generation=9, event_id=event_id(*known))
    expected = [("g", 9, "aborted generation 9 has no record")]
    assert said(report([*events, invented], observations)) == expected


def test_a_deletion_must_be_reported():
    observations = (*EAGER, tombstone(20_000))
    events = reported(*observations)
    assert report(events, observations).agreed == 4
    assert said(report(events[:-1], observations)) == [("g", 3, "deletion has no event")]


def test_events_of_other_clusters_are_ignored():
    events = reported(*EAGER)
    others = [replace(each, cluster_id="other") for each in events]
    assert report([*events, *others], EAGER).clean


def test_records_before_a_gap_are_not_judged_and_records_after_it_are():
    events = reported(*EAGER)
    found = report(events, EAGER[2:], [2, 3])
    assert (found.clean, found.agreed) == (True, 2)
    assert found.unjudged == {"whose records were compacted away": 1}
    invented = replace(
        events[2], generation=8, event_id=event_id("generation", "cluster", "g", "classic", 8, T0 + 9_000)
    )
    assert not report([*events, invented], EAGER[2:], [2, 3]).clean
    assert not report(events[:-1], EAGER[2:], [2, 3]).clean


@pytest.mark.parametrize("left", [[4], [3, 4], [2, 3, 4]])
@pytest.mark.parametrize("first", [1, 5])
def test_a_static_members_return_is_matched_by_time_without_earlier_records(first, left):
    """The event's id contains the returned member, which its record alone does not show."""

    def static(name):
        return member(name, (0, 1), instance="one")

    observations = (
        record(0, 0),
        record(1_000, first, static("a")),
        record(5_000, first, static("b")),
        record(9_000, first + 1, static("b"), member("c", (2, 3))),
        record(12_000, first + 1, static("d"), member("c", (2, 3))),
    )
    events = reported(*observations)
    found = report(events, [observations[each] for each in left], left)
    assert (said(found), found.agreed) == ([], len(left))
    last = replace(events[-1], members=events[-1].members[:1])
    assert not report([*events[:-1], last], [observations[each] for each in left], left).clean


def test_a_return_belongs_to_an_open_episode_whose_beginning_is_compacted_away():
    """Its event counts the moves of the whole episode; the remaining records show none."""

    def static(name, partitions, owned=()):
        return member(name, partitions, owned=owned, instance=name[0])

    both = (0, 1, 2, 3)
    observations = (
        record(0, 0),
        record(1_000, 1, static("a", both), protocol="cooperative-sticky"),
        record(5_000, 2, static("a", (0, 1), both), static("b", ()), protocol="cooperative-sticky"),
        record(5_100, 2, static("a2", (0, 1)), static("b", ()), protocol="cooperative-sticky"),
        record(5_200, 3, static("a2", (0, 1), (0, 1)), static("b", (2, 3)), protocol="cooperative-sticky"),
        record(60_000, 3, static("a3", (0, 1)), static("b", (2, 3)), protocol="cooperative-sticky"),
    )
    events = reported(*observations)
    for first in (2, 3, 4, 5):
        left = range(first, len(observations))
        assert said(report(events, [observations[each] for each in left], left)) == []
    wrong = [*events[:-1], replace(events[-1], moved=1)]
    for first in (2, 4):
        left = range(first, len(observations))
        assert len(said(report(wrong, [observations[each] for each in left], left))) == 1


def test_without_compaction_a_gap_is_a_transaction_marker():
    events, offsets = reported(*EAGER), [0, 2, 4, 6]
    assert report(events, EAGER, offsets, complete=True).unjudged == {}
    wrong = [events[0], replace(events[1], moved=7), events[2]]
    assert not report(wrong, EAGER, offsets, complete=True).clean


def test_records_that_cannot_be_read_are_counted():
    broken = [replace(posted(EAGER[1], 0), value=b"\x00\x03"), replace(posted(EAGER[2], 1), value=b"\x00\x63")]
    assert ledger_of([], broken).unjudged == {"records that cannot be read": 2}


def test_an_event_from_polls_is_named():
    """No observer publishes such events: polls show that something changed, but not what."""
    events = reported(*EAGER)
    polled = replace(events[1], source=Source.ADMIN)
    expected = ("g", 2, "generation 2 comes from polls, which cannot detect it")
    assert said(report([*events, polled], EAGER)) == [expected]


def test_copies_of_an_episode_with_known_previous_owners_must_have_equal_moves():
    events = reported(*EAGER)
    lie, late = replace(events[2], moved=7), replace(events[2], moved=7, previous_generation=None)
    assert said(report([*events, lie], EAGER)) == [("g", 3, "it was published twice, with different moves")]
    assert report([*events, late], EAGER).clean


def test_differences_are_counted_and_a_bounded_number_kept():
    each = Difference("g", 1, "odd")
    few = Differences(kept_max=2)
    few.differ(each, each, each)
    few.differ(each, found=1_000_000)
    assert (len(few.differences), few.found) == (2, 1_000_003)


def test_differences_that_a_gap_may_excuse_are_bounded_too(monkeypatch):
    monkeypatch.setattr(ledger, "PENDING_DIFFERENCES_MAX", 3)
    observations = [record(1_000 * number, 10 * number, member("a", (0,))) for number in range(1, 6)]
    found = report([], observations, range(7, 12))
    assert found.clean is False
    aborted = [each for each in found.differences if "aborted" in each.what]
    assert len(aborted) == 3
    assert found.found == 32
