from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Evidence, Trigger
from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupState, RebalanceProtocol
from rebalance_agent.tracking.rebalance.episodes import group_episodes
from rebalance_agent.tracking.views import RunningRebalance, StallHistogram
from support.tracker.tracking import (
    SILENT_MS,
    T0,
    WHOLE,
    assigned,
    closing,
    feed,
    in_time,
    left,
    listed,
    member,
    record,
    revoked,
    tick,
    tombstone,
    topics,
    triggers,
    watch,
)

START = (topics(0, t=4), record(1_000, 0), record(4_000, 1, member("a", (0, 1, 2, 3)), joined=3_990))
JOIN = (
    listed(20_000),
    listed(20_200, "g"),
    listed(22_800, "g"),
    record(23_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=22_990),
)


def test_a_group_starts_at_its_first_members_join():
    tracker, events = watch(*START, tick(9_000))
    (event,) = closing(events)
    assert event.trigger is Trigger.GROUP_STARTED
    assert event.phases.started_ms == T0 + 1_000
    assert event.phases.started_evidence is Evidence.RECORD
    assert event.phases.join_seconds == 2.99
    assert event.phases.sync_seconds == 0.01
    assert event.stall.seconds == event.stall.lower_seconds == 3.0
    assert event.stall.basis is Basis.BOUND, "no member reported when it resumed"
    assert tracker.view("g").counters.completed == {Trigger.GROUP_STARTED: 1}


def test_a_started_group_with_reporting_members_has_an_exact_stall():
    _, events = watch(*START, assigned("a", 4_005, 4_020, 1, (0, 1, 2, 3)), tick(9_000))
    (event,) = closing(events)
    assert event.stall.basis is Basis.EXACT
    assert event.stall.seconds == event.stall.lower_seconds == 3.02
    assert event.stall.upper_partition_seconds == pytest.approx(4 * 3.02)


def test_state_and_generation_are_shown_at_once_and_the_episode_when_it_settles():
    tracker, events = watch(*START)
    view = tracker.view("g")
    assert (view.state, view.generation, len(view.members), view.partitions) == (GroupState.STABLE, 1, 1, 4)
    assert events == []
    assert feed(tracker, tick(8_999)) == []
    assert len(feed(tracker, tick(9_000))) == 1


def test_a_new_group_prepares_until_its_first_assignment():
    tracker, _ = watch(record(1_000, 0))
    assert tracker.view("g").state is GroupState.PREPARING_REBALANCE
    assert tracker.view("g").running.started_ms == T0 + 1_000


def test_the_start_of_a_join_is_bounded_by_the_last_poll_before_it():
    tracker, events = watch(*START, *JOIN, tick(60_000))
    event = closing(events)[-1]
    assert event.trigger is Trigger.MEMBER_JOINED
    assert event.phases.started_evidence is Evidence.LIST
    assert event.phases.started_ms == T0 + 20_000
    assert event.stall.basis is Basis.BOUND
    assert event.stall.seconds == 3.0
    assert event.stall.lower_seconds == 0.01, "the last member of the join phase may have worked until then"
    assert (event.moved, event.needed, event.revoked, event.assigned, event.lost) == (2, 2, 4, 4, 0)
    assert not event.noop
    assert tracker.view("g").protocol is RebalanceProtocol.EAGER


def test_a_rebalance_between_two_polls_began_after_the_first():
    _, events = watch(
        *START, listed(20_000), record(20_100, 2, member("a", (0, 1)), member("b", (2, 3)), joined=20_090), tick(60_000)
    )
    event = closing(events)[-1]
    assert event.phases.started_ms == T0 + 20_000
    assert event.stall.seconds == 0.1


def test_the_start_is_unknown_if_the_first_poll_shows_a_rebalance_and_an_older_record_is_read_after_it():
    _, events = watch(
        topics(0, t=4),
        listed(20_000, "g"),
        record(1_000, 1, member("a", (0, 1, 2, 3)), live=False, delay=19_100),
        WHOLE,
        listed(20_200, "g"),
        record(20_400, 2, member("a", (0, 1)), member("b", (2, 3)), joined=20_390),
        tick(60_000),
    )
    event = closing(events)[-1]
    assert (event.generation, event.phases.started_ms) == (2, None)


def test_without_polls_and_reports_the_stall_is_unknown():
    tracker, events = watch(*START, JOIN[-1], tick(60_000))
    event = closing(events)[-1]
    assert event.phases.started_ms is None
    assert event.stall is None
    assert tracker.view("g").counters.completed[Trigger.MEMBER_JOINED] == 1


REPORTS = (
    revoked("a", 20_500, 22_900, 1, (0, 1, 2, 3)),
    assigned("a", 23_005, 23_030, 2, (0, 1)),
    assigned("b", 23_005, 23_050, 2, (2, 3)),
)


def test_reports_turn_a_bound_into_an_exact_stall():
    tracker, events = watch(*START, *JOIN, *REPORTS, tick(60_000))
    event = closing(events)[-1]
    assert event.revision == 0
    assert event.stall.basis is Basis.EXACT
    assert event.stall.seconds == 2.55
    assert event.stall.upper_partition_seconds == pytest.approx(2 * 2.53 + 2 * 2.55)
    assert event.slowest_member_id == "a"
    view = tracker.view("g")
    assert (event.slowest_client_id, event.slowest_seconds) == ("client-a", 2.9)
    assert [each.client_id for each in view.awaited] == ["client-a"]
    assert {each.member_id: each.stop_seconds for each in event.members} == {"a": 0.5, "b": None}


def test_one_member_without_reports_keeps_the_stall_a_bound():
    _, events = watch(*START, *JOIN, *REPORTS[:2], tick(60_000))
    stall = closing(events)[-1].stall
    assert stall.basis is Basis.BOUND
    assert stall.lower_seconds <= 2.55 <= stall.seconds + 0.05


def test_late_reports_revise_the_event_but_not_the_counters():
    tracker, events = watch(*START, *JOIN, tick(60_000))
    before = closing(events)[-1]
    counters = tracker.view("g").counters
    late = [(report, report.event) for report in REPORTS]
    revised = feed(tracker, *(type(report)(T0 + 61_000, event) for report, event in late), tick(70_000))
    (after,) = revised
    assert after.event_id == before.event_id
    assert (before.revision, after.revision) == (0, 1)
    assert (before.stall.basis, after.stall.basis) == (Basis.BOUND, Basis.EXACT)
    assert tracker.view("g").counters.stalls == {**counters.stalls, Basis.EXACT: StallHistogram()}
    assert tracker.view("g").counters.completed == counters.completed


def test_the_histogram_of_measured_stalls_begins_at_zero_before_the_first_one():
    tracker, _ = watch(*START, REPORTS[0])
    assert tracker.view("g").counters.stalls[Basis.EXACT] == StallHistogram()


def test_reports_without_new_evidence_do_not_cause_a_revision():
    tracker, events = watch(*START, *JOIN, *REPORTS, tick(60_000))
    assert closing(events)
    assert feed(tracker, *REPORTS, assigned("b", 23_005, 23_050, 2, (2, 3), seq=999), tick(80_000)) == []


def test_reports_about_members_of_no_settled_rebalance_cause_no_work(monkeypatch):
    """A client that may post events can invent members of any group: settling a large group again takes 50 ms."""
    tracker, _ = watch(*START, *JOIN, tick(60_000))
    settled, settle = [], group_episodes.settle
    monkeypatch.setattr(group_episodes, "settle", lambda *args: settled.append(args) or settle(*args))
    assert (
        feed(tracker, *(assigned(f"x{number}", 23_005, 23_050, 2, (2, 3)) for number in range(5)), tick(70_000)) == []
    )
    assert settled == []
    (after,) = feed(tracker, *(type(report)(T0 + 71_000, report.event) for report in REPORTS), tick(80_000))
    assert len(settled) > 0
    assert after.stall.basis is Basis.EXACT


def test_slow_callbacks_identify_the_slowest_member():
    before = record(23_000, 2, member("a", (0, 1)), member("b", (2, 3)))
    after = record(43_000, 3, member("a", (0, 1)), member("b", (2, 3)), joined=42_990)
    _, events = watch(
        *START,
        before,
        listed(30_000),
        listed(30_200, "g"),
        revoked("a", 30_300, 30_310, 2, (0, 1)),
        revoked("b", 30_400, 42_980, 2, (2, 3)),
        after,
        tick(90_000),
    )
    event = closing(events)[-1]
    assert event.slowest_member_id == "b"
    assert event.trigger is Trigger.REJOIN
    assert event.noop


def test_no_slowest_member_is_named_without_its_report():
    before = record(23_000, 2, member("a", (0, 1)), member("b", (2, 3)))
    after = record(43_000, 3, member("a", (0, 1)), member("b", (2, 3)), joined=42_990)
    _, events = watch(
        *START,
        before,
        listed(30_000),
        listed(30_200, "g"),
        revoked("a", 30_300, 30_310, 2, (0, 1)),
        after,
        tick(90_000),
    )
    assert closing(events)[-1].slowest_member_id is None


def test_the_upper_bound_of_a_failed_members_stall_includes_the_session_timeout():
    _, events = watch(
        *START,
        *JOIN,
        listed(80_000),
        listed(80_200, "g"),
        listed(82_990, "g"),
        record(83_000, 3, member("a", (0, 1, 2, 3)), joined=82_990),
        tick(99_000),
    )
    event = closing(events)[-1]
    assert event.trigger is Trigger.MEMBER_GONE
    assert event.stall.seconds == pytest.approx((3_000 + SILENT_MS) / 1000)
    assert event.stall.lower_seconds == pytest.approx(2.8)


GONE = (listed(80_000), listed(80_200, "g"), record(83_000, 3, member("a", (0, 1, 2, 3)), joined=82_990))


@pytest.mark.parametrize(
    ("reports", "trigger", "lost"),
    [
        ((), Trigger.MEMBER_GONE, None),
        ((left("b", 80_050, 2),), Trigger.MEMBER_LEFT, 0),
        ((revoked("b", 80_050, 80_060, 2, (2, 3)),), Trigger.MEMBER_LEFT, 0),
        ((assigned("b", 23_010, 23_020, 2, (2, 3)),), Trigger.MEMBER_FAILED, 2),
        ((assigned("b", 23_010, 23_020, 2, (2, 3)), left("b", 80_050, 2)), Trigger.MEMBER_LEFT, 0),
        ((revoked("b", 80_300, 120_000, 2, (2, 3)),), Trigger.MEMBER_FAILED, 2),
    ],
)
def test_a_members_reports_show_whether_it_left_or_failed(reports, trigger, lost):
    _, events = watch(*in_time(*START, *JOIN, *GONE, *reports, tick(99_000), tick(130_000)))
    event = closing(events)[-1]
    assert (event.trigger, event.lost) == (trigger, lost)


def test_the_partitions_of_a_member_that_leaves_stop_at_its_leave():
    _, events = watch(
        *START,
        *JOIN,
        *GONE,
        revoked("b", 80_050, 80_060, 2, (2, 3)),
        revoked("a", 80_300, 80_310, 2, (0, 1)),
        assigned("a", 83_010, 83_020, 3, (0, 1, 2, 3)),
        tick(99_000),
    )
    stall = closing(events)[-1].stall
    assert (stall.seconds, stall.basis) == (pytest.approx(2.97), Basis.EXACT)


def test_the_episode_of_an_emptied_group_is_not_counted():
    tracker, events = watch(*START, record(30_000, 2), tick(60_000))
    event = closing(events)[-1]
    assert (event.generation, event.members, event.stall) == (2, (), None)
    assert event.trigger is Trigger.MEMBER_GONE
    view = tracker.view("g")
    assert view.state is GroupState.EMPTY
    assert view.counters.completed == {Trigger.GROUP_STARTED: 1}


def test_empty_time_adds_to_neither_slo_counter():
    tracker, _ = watch(*START, record(30_000, 2), tick(60_000))
    before = tracker.view("g").counters
    feed(tracker, tick(10_000_000), record(10_000_000, 2), topics(10_000_000, t=4))
    after = tracker.view("g").counters
    assert (after.partition_seconds, after.stalled_partition_seconds) == (
        before.partition_seconds,
        before.stalled_partition_seconds,
    )


def test_an_empty_group_that_starts_again_stalls_from_the_poll_that_showed_it():
    _, events = watch(
        *START,
        record(30_000, 2),
        listed(90_000),
        listed(90_200, "g"),
        listed(92_990, "g"),
        record(93_000, 3, member("b", (0, 1, 2, 3)), joined=92_990),
        tick(99_000),
    )
    event = closing(events)[-1]
    assert event.trigger is Trigger.GROUP_STARTED
    assert (event.stall.seconds, event.stall.lower_seconds, event.stall.basis) == (3.0, 2.8, Basis.BOUND)
    assert event.moved == 0


def test_a_tombstone_removes_the_view_and_settles_open_episodes():
    tracker, events = watch(*START, tombstone(5_000), tick(5_999))
    assert events == []  # it may still continue as a group of another type
    events = feed(tracker, tick(6_000), tick(7_000))
    assert [type(event) for event in events] == [GenerationEvent, GroupGoneEvent]
    assert tracker.view("g") is None
    assert list(tracker.groups()) == []


def test_a_missing_generation_in_the_live_tail_was_aborted():
    tracker, events = watch(*START, record(30_000, 4, member("a", (0, 1, 2, 3))))
    aborted = [event for event in events if isinstance(event, AbortedEvent)]
    assert [event.generation for event in aborted] == [2, 3]
    assert tracker.view("g").counters.aborted == 2


def test_a_missing_generation_across_a_backfill_is_ignored():
    tracker, events = watch(
        record(4_000, 1, member("a", (0,)), live=False), record(30_000, 4, member("a", (0,))), tick(60_000)
    )
    assert not any(isinstance(event, AbortedEvent) for event in events)
    assert triggers(events) == [Trigger.REJOIN]
    assert tracker.view("g").counters.aborted == 0


def test_many_missing_generations_are_one_fact_with_their_number():
    tracker, events = watch(*START, record(30_000, 52, member("a", (0, 1, 2, 3))))
    (aborted,) = [event for event in events if isinstance(event, AbortedEvent)]
    assert (aborted.generation, aborted.generations) == (51, 50)
    assert tracker.view("g").counters.aborted == 50


def test_an_impossible_jump_of_the_generation_means_a_recreated_group():
    tracker, events = watch(*START, record(30_000, 2**31 - 1, member("a", (0, 1, 2, 3))), tick(60_000))
    assert not any(isinstance(event, AbortedEvent) for event in events)
    assert triggers(events) == [Trigger.GROUP_STARTED, Trigger.UNKNOWN]
    assert tracker.view("g").counters.aborted == 0
    events = feed(tracker, record(90_000, 0), record(93_000, 1, member("a", (0, 1, 2, 3))), tick(120_000))
    assert triggers(events) == [Trigger.GROUP_STARTED]


def test_a_backfill_gives_a_view_and_no_events():
    tracker, events = watch(record(4_000, 7, member("a", (0,)), live=False), tick(60_000))
    assert events == []
    assert (tracker.view("g").generation, tracker.view("g").counters.completed) == (7, {})


def test_a_tombstone_of_the_backfill_is_no_event():
    tracker, events = watch(
        record(4_000, 7, member("a", (0,)), live=False), replace(tombstone(9_000), live=False), tick(60_000)
    )
    assert events == []
    assert tracker.view("g") is None


def test_a_tombstone_from_before_the_group_was_created_again_is_late():
    tracker, events = watch(record(4_000, 1, member("a", (0,))), tombstone(3_000), tick(60_000))
    assert tracker.view("g") is not None
    assert triggers(events) == [Trigger.GROUP_STARTED]


def test_the_first_seen_generation_of_an_older_group_has_an_unknown_trigger():
    _, events = watch(record(4_000, 7, member("a", (0,))), tick(60_000))
    assert triggers(events) == [Trigger.UNKNOWN]
    assert closing(events)[0].stall is None


def test_a_replayed_record_changes_nothing():
    tracker, events = watch(*START, *JOIN, tick(60_000))
    view = tracker.view("g")
    assert feed(tracker, START[1], START[2], JOIN[-1], tick(70_000)) == []
    assert tracker.view("g") == view
    assert len(events) == 2


def test_polls_show_a_rebalance_at_once_and_only_its_record_ends_it():
    tracker, _ = watch(*START, *JOIN[:2])
    view = tracker.view("g")
    assert view.state is GroupState.PREPARING_REBALANCE
    assert view.running == RunningRebalance(T0 + 20_000, 0, 4), "a member consumes until it polls"
    feed(tracker, listed(22_850, "g", state=GroupState.COMPLETING_REBALANCE))
    assert tracker.view("g").state is GroupState.COMPLETING_REBALANCE
    assert tracker.view("g").running == RunningRebalance(T0 + 20_000, 4, 0), "all have rejoined"
    feed(tracker, listed(22_995))
    assert tracker.view("g").state is GroupState.COMPLETING_REBALANCE, "its record is not read yet"
    feed(tracker, JOIN[-1])
    assert (tracker.view("g").state, tracker.view("g").running) == (GroupState.STABLE, None)


def test_a_rebalance_that_leaves_the_list_without_a_record_is_given_up():
    tracker, events = watch(*START, tick(9_000), *JOIN[:2], listed(22_000), tick(26_999))
    assert tracker.view("g").state is GroupState.PREPARING_REBALANCE
    events = feed(tracker, tick(27_000))
    assert (tracker.view("g").state, tracker.view("g").running) == (GroupState.STABLE, None)
    assert events == []


def test_a_poll_older_than_the_record_starts_no_rebalance():
    tracker, _ = watch(*START, record(23_000, 2, member("a", (0, 1, 2, 3)), delay=30), listed(23_010, "g"))
    assert tracker.view("g").running is None


def test_a_first_member_that_leaves_before_its_assignment_leaves_an_empty_group():
    tracker, events = watch(record(1_000, 0), listed(1_500), tick(6_500))
    assert tracker.view("g").state is GroupState.EMPTY
    assert events == []


def test_an_incomplete_poll_ends_no_rebalance():
    tracker, _ = watch(*START, *JOIN[:2], listed(21_000, complete=False), tick(60_000))
    assert tracker.view("g").state is GroupState.PREPARING_REBALANCE


@pytest.mark.parametrize("ahead", [10_000, -10_000])
def test_a_clock_offset_does_not_shift_the_start(ahead):
    _, events = watch(
        topics(0, t=4),
        record(1_000, 0, delay=ahead),
        record(4_000, 1, member("a", (0, 1, 2, 3)), delay=ahead),
        listed(20_000 + ahead),
        listed(20_200 + ahead, "g"),
        record(23_000, 2, member("a", (0, 1, 2, 3)), joined=22_990, delay=ahead),
        tick(99_000),
    )
    assert [event.phases.started_ms for event in closing(events)] == [T0 + 1_000, T0 + 20_000]


def test_a_clock_offset_does_not_shift_the_start_of_a_rebalance_between_two_polls():
    ahead = 10_000
    _, events = watch(
        topics(0, t=4),
        record(1_000, 1, member("a", (0, 1, 2, 3)), delay=ahead),
        listed(20_000 + ahead),
        record(20_100, 2, member("a", (0, 1, 2, 3)), joined=20_090, delay=ahead),
        tick(99_000),
    )
    assert closing(events)[-1].phases.started_ms == T0 + 20_000


def test_a_connect_group_is_followed_without_partitions():
    tracker, events = watch(
        record(1_000, 0, kind="connect"),
        record(4_000, 1, member("w"), kind="connect", protocol="sessioned"),
        tick(9_000),
    )
    assert closing(events)[0].stall is None
    view = tracker.view("g")
    assert (view.generation, view.partitions, view.unassigned) == (1, None, None)
