"""Stalls of partitions, from members' lines written by hand."""

from __future__ import annotations

import pytest

from judge.evidence.facts import State
from judge.evidence.history import History
from judge.evidence.process import FOREVER, Process
from judge.evidence.spans import spans, stale_owners, unheard_owners


def line(at, what, *partitions, edge=None, **more):
    made = {"at": at, "what": what, **more}
    if what in ("assigned", "revoked", "lost"):
        made |= {"edge": edge, "partitions": list(partitions)}
    return made


def called(at, what, *partitions, takes=0):
    return [line(at, what, *partitions, edge="enter"), line(at + takes, what, *partitions, edge="exit")]


def read(first, last, partition="t-0"):
    return line(last, "read", first={partition: first}, last={partition: last})


def process(name, lines, *acts, streams=False):
    return Process(f"{name}.1", name, lines, [{"at": at, "do": do} for at, do in acts], streams)


def handed_over(old, new=None):
    """The spans of t-0 after its first one, with the old owner's lines; the new owner has it at 5,000."""
    new = new or process("b", called(4_900, "assigned", "t-0", takes=100))
    found = spans([old, new])
    return [each for each in found if each.old]


def test_a_partition_stalls_from_the_revoked_callback_to_the_return_of_the_assigned_one():
    old = process("a", [*called(1_000, "assigned", "t-0"), *called(2_000, "revoked", "t-0", takes=2_500)])
    (span,) = handed_over(old)
    assert (span.longest_s, span.shortest_s, span.reason) == (3.0, 3.0, "revoked")
    assert (span.old, span.new) == ("a.1", "b.1")


def test_a_member_that_revokes_a_partition_and_gets_it_back_is_a_new_owner():
    lines = [
        *called(1_000, "assigned", "t-0"),
        *called(2_000, "revoked", "t-0"),
        *called(2_300, "assigned", "t-0", takes=50),
    ]
    (span,) = [each for each in spans([process("a", lines)]) if each.old]
    assert span.longest_s == 0.35


def test_a_killed_member_stopped_when_it_was_killed():
    old = process("a", [*called(1_000, "assigned", "t-0"), read(1_500, 1_700)], (2_000, "kill"))
    (span,) = handed_over(old)
    assert (span.longest_s, span.reason) == (3.0, "killed")


def test_a_paused_member_stopped_at_the_signal_also_if_its_loss_is_reported_later():
    old = process(
        "a", [*called(1_000, "assigned", "t-0"), *called(7_050, "lost", "t-0")], (2_000, "stop"), (7_000, "cont")
    )
    (span,) = handed_over(old)
    assert (span.longest_s, span.reason, span.unsure) == (3.0, "stopped", False)


def test_a_member_blocked_in_a_record_stopped_there_if_it_therefore_lost_the_partition():
    lines = [*called(1_000, "assigned", "t-0"), line(2_000, "busy"), line(6_000, "idle"), *called(6_010, "lost", "t-0")]
    (span,) = handed_over(process("a", lines))
    assert (span.longest_s, span.reason) == (3.0, "busy")


def test_a_member_blocked_in_a_record_that_continues_with_the_partition_did_not_stop():
    lines = [
        *called(1_000, "assigned", "t-0"),
        line(1_500, "busy"),
        line(2_000, "idle"),
        read(2_100, 4_000),
        *called(4_500, "revoked", "t-0"),
    ]
    (span,) = handed_over(process("a", lines))
    assert (span.longest_s, span.reason) == (0.5, "revoked")


def test_a_closing_member_stopped_between_the_close_and_its_callback():
    lines = [
        *called(1_000, "assigned", "t-0"),
        line(2_000, "closing"),
        *called(2_400, "revoked", "t-0"),
        line(3_000, "closed"),
    ]
    (span,) = handed_over(process("a", lines))
    assert (span.longest_s, span.shortest_s, span.reason) == (3.0, 2.6, "closing")


def test_a_member_that_closes_without_a_callback_stopped_before_the_close_ended():
    lines = [*called(1_000, "assigned", "t-0"), line(2_000, "closing"), line(2_700, "closed")]
    (span,) = handed_over(process("a", lines))
    assert (span.longest_s, span.shortest_s) == (3.0, 2.3)


def test_two_members_with_the_same_partition_are_unsure():
    lines = [*called(1_000, "assigned", "t-0"), read(1_500, 5_500), *called(6_000, "revoked", "t-0")]
    (span,) = handed_over(process("a", lines))
    assert span.unsure


@pytest.mark.parametrize(("acts", "shortest"), [((), 2.0), (((2_000, "stop"), (20_000, "cont")), 6.0)])
def test_a_late_callback_of_a_removed_member_does_not_hide_the_current_owner(acts, shortest):
    """A member blocked in a record got a late callback for partitions of another member, and then learned of its
    removal."""
    goes_on = process("b", [*called(1_000, "assigned", "t-0"), *called(8_000, "lost", "t-0")], *acts)
    late = process("a", [*called(3_000, "assigned", "t-0"), *called(4_000, "lost", "t-0")])
    new = process("c", called(10_000, "assigned", "t-0"))
    span = next(each for each in spans([goes_on, late, new]) if each.new == "c.1")
    assert (span.longest_s, span.shortest_s, span.unsure) == (6.0, shortest, False)


def test_a_task_of_streams_stopped_between_its_last_record_and_its_end():
    lines = [*called(1_000, "assigned", "t-0"), read(1_500, 1_800), *called(2_000, "revoked", "t-0")]
    (span,) = handed_over(process("a", lines, streams=True))
    assert (span.longest_s, span.shortest_s) == (3.2, 3.0)


def test_a_partition_without_a_later_owner_has_an_open_stall():
    found = spans([process("a", called(1_000, "assigned", "t-0"), (2_000, "kill"))])
    assert [each.until for each in found] == [1_000, FOREVER]
    assert (found[-1].stop_first, found[-1].reason) == (2_000, "killed")


def test_a_member_that_never_had_a_partition_is_in_no_span():
    assert spans([process("a", called(1_000, "assigned"))]) == []


@pytest.mark.parametrize(("at", "owner", "stale"), [(3_000, "b", True), (3_000, "a", False), (5_500, "b", False)])
def test_a_member_that_processes_partitions_assigned_to_another_is_stale(at, owner, stale):
    lines = [*called(1_000, "assigned", "t-0"), *called(5_000, "lost", "t-0")]
    assert stale_owners([process("a", lines)], State(at, 1, 1, {owner: {"t-0"}})) is stale


@pytest.mark.parametrize(("until", "last"), [(1_600, 1_500), (1_800, 1_700), (1_400, None)])
def test_a_line_has_the_times_of_the_first_and_last_processed_record(until, last):
    assert process("a", [read(1_500, 1_700)]).processed("t-0", 1_400, until) == last


GIVEN = called(2_000, "assigned", "t-0")
LATER = called(6_000, "assigned", "t-0")


@pytest.mark.parametrize(
    ("lines", "known", "unheard"),
    [([], set(), True), ([], {"t-0"}, False), (GIVEN, set(), False), (LATER, set(), True)],
)
def test_a_member_that_never_got_its_assigned_partition_does_not_determine_the_stall(lines, known, unheard):
    history = History("g")
    history.states = [State(1_900, 1, 1, {"a": {"t-0"}}), State(5_000, 2, 1, {"b": {"t-0"}})]
    assert unheard_owners([process("a", lines)], history, 1_900, known) is unheard
