from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Basis, Evidence, Stall, Trigger
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.events import USER_DATA_BYTES_MAX
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.tracking.rebalance.episodes.group_episodes import PENDING_MAX
from rebalance_agent.tracking.rebalance.settle import Settlement, revise
from rebalance_agent.tracking.rebalance.slowness import Slowness
from support.tracker.tracking import T0, assigned, closing, feed, listed, member, record, revoked, tick, topics, watch

ALL = (0, 1, 2, 3)
START = (topics(0, t=4), record(1_000, 0), record(4_000, 1, member("a", ALL), joined=3_990), tick(9_000))


def _settlement(stall, trigger):
    _, events = watch(*START, record(20_000, 2, member("a", ALL)), tick(60_000))
    return Settlement((replace(closing(events)[-1], stall=stall, trigger=trigger),), Slowness())


TIGHT, WIDE = Stall(3.0, 2.0, 9.0, Basis.BOUND), Stall(9.0, 2.0, 9.0, Basis.BOUND)
EXACT = Stall(2.5, 2.5, 9.0, Basis.EXACT)


def test_better_evidence_causes_a_revision():
    for old, new in [(None, WIDE), (WIDE, TIGHT), (WIDE, EXACT), (TIGHT, EXACT)]:
        revised = revise(_settlement(old, Trigger.REJOIN), _settlement(new, Trigger.REJOIN))
        assert revised is not None
        (event,) = revised[1]
        assert (event.revision, event.stall) == (1, new)


def test_worse_evidence_causes_no_revision():
    for old, new in [(TIGHT, WIDE), (EXACT, TIGHT), (EXACT, None), (WIDE, None)]:
        assert revise(_settlement(old, Trigger.REJOIN), _settlement(new, Trigger.MEMBER_LEFT)) is None


def test_a_better_cause_alone_causes_a_revision():
    revised = revise(_settlement(TIGHT, Trigger.MEMBER_GONE), _settlement(TIGHT, Trigger.MEMBER_LEFT))
    assert revised is not None
    assert revised[1][0].trigger is Trigger.MEMBER_LEFT


def test_the_same_evidence_causes_no_revision():
    assert revise(_settlement(TIGHT, Trigger.REJOIN), _settlement(TIGHT, Trigger.REJOIN)) is None


def test_with_very_many_open_episodes_the_oldest_settles_early():
    storm = [record(10_000 + number, 2 + number, member("a", ALL)) for number in range(PENDING_MAX + 3)]
    _, events = watch(*START, *storm)
    assert [event.generation for event in closing(events)[1:]] == [2, 3, 4]


def test_a_start_from_a_list_is_never_exact():
    _, events = watch(
        *START,
        record(30_000, 2),
        listed(40_000),
        listed(40_200, "g"),
        record(43_000, 3, member("b", ALL)),
        assigned("b", 43_010, 43_020, 3, ALL),
        tick(60_000),
    )
    assert closing(events)[-1].stall.basis is Basis.BOUND


def test_a_rebalance_starts_after_the_end_of_the_previous_one():
    _, events = watch(*START, listed(3_000), record(9_500, 2, member("a", ALL), joined=9_490), tick(60_000))
    assert closing(events)[-1].phases.started_ms == T0 + 4_000


def test_a_join_phase_that_ended_before_the_rebalance_is_ignored():
    _, events = watch(*START, listed(20_000), record(23_000, 2, member("a", ALL), joined=3_000), tick(60_000))
    phases = closing(events)[-1].phases
    assert (phases.joined_ms, phases.join_seconds, phases.sync_seconds) == (None, None, None)


def test_a_join_phase_that_ended_after_its_record_ended_with_it():
    _, events = watch(*START, listed(20_000), record(23_000, 2, member("a", ALL), joined=90_000), tick(60_000))
    assert closing(events)[-1].phases.joined_ms == T0 + 23_000


def test_a_members_reaction_before_the_first_poll_bounds_the_start():
    _, events = watch(
        *START,
        listed(20_000),
        revoked("a", 20_050, 20_060, 1, ALL),
        listed(20_200, "g"),
        record(23_000, 2, member("a", ALL)),
        tick(60_000),
    )
    phases = closing(events)[-1].phases
    assert (phases.started_ms, phases.started_latest_ms) == (T0 + 20_000, T0 + 20_050)
    assert (phases.started_evidence, phases.join_seconds) == (Evidence.LIST, 3.0)


def test_without_a_poll_the_first_stop_that_a_member_reports_is_the_start():
    stop, end = revoked("a", 20_050, 20_060, 1, ALL), record(23_000, 2, member("a", ALL))
    _, events = watch(record(9_000, 0), record(10_000, 1, member("a", ALL)), stop, end, tick(60_000))
    phases = closing(events)[-1].phases
    assert (phases.started_ms, phases.started_latest_ms) == (T0 + 20_050, T0 + 20_050)
    assert phases.started_evidence is Evidence.MEMBERS


def test_the_wait_for_the_slowest_member_has_bounds_like_the_start():
    polls = listed(20_000), listed(25_000, "g")
    stop, end = revoked("a", 20_500, 29_900, 1, ALL), record(30_010, 2, member("a", ALL), joined=30_000)
    tracker, events = watch(*START, *polls, stop, end, tick(60_000))
    event, view = closing(events)[-1], tracker.view("g")
    assert (event.slowest_lower_seconds, event.slowest_seconds) == (9.4, 9.9)
    assert [each.seconds for each in view.awaited] == [9.4]


def test_a_response_seen_by_a_gateway_bounds_the_start():
    report = revoked("a", 22_000, 22_000, 1, ALL)
    seen = replace(report.event, evidence=Evidence.GATEWAY, stop_seconds=1.95)
    _, events = watch(
        *START,
        listed(20_000),
        replace(report, event=seen),
        listed(22_200, "g"),
        record(23_000, 2, member("a", ALL)),
        tick(60_000),
    )
    phases = closing(events)[-1].phases
    assert (phases.started_ms, phases.started_latest_ms) == (T0 + 20_000, T0 + 20_050)


@pytest.mark.parametrize(
    ("seconds", "started"),
    [
        (1e308, 4_000),  # counts as a day
        (-5.0, None),  # it stopped before the request
        (500_000.0, 4_000),  # before it owned partitions
        (1.95, 20_050),
    ],
)
def test_an_impossible_stop_time_does_not_date_the_start(seconds, started):
    report = revoked("a", 22_000, 22_000, 1, ALL)
    seen = replace(report, event=replace(report.event, stop_seconds=seconds))
    _, events = watch(record(4_000, 1, member("a", ALL)), seen, record(23_000, 2, member("a", ALL)), tick(60_000))
    started_ms = closing(events)[-1].phases.started_ms
    assert started_ms == (None if started is None else T0 + started)


def test_a_member_with_a_late_clock_does_not_date_the_start_before_the_last_calm_poll():
    _, events = watch(
        *START,
        listed(20_000),
        revoked("a", 19_000, 19_010, 1, ALL),
        listed(20_200, "g"),
        record(23_000, 2, member("a", ALL)),
        tick(60_000),
    )
    assert closing(events)[-1].phases.started_ms == T0 + 20_000


def test_the_one_reporting_member_is_named_if_the_wait_ended_with_it():
    _, events = watch(
        *START,
        record(10_000, 2, member("a", (0, 1)), member("b", (2, 3))),
        listed(20_000),
        listed(20_200, "g"),
        revoked("a", 20_300, 42_500, 2, (0, 1)),
        record(43_000, 3, member("a", (0, 1)), member("b", (2, 3)), joined=42_990),
        tick(60_000),
    )
    assert closing(events)[-1].slowest_member_id == "a"


def test_a_static_return_does_not_end_the_rebalance_that_a_poll_shows():
    static = member("a-1", ALL, instance="A")
    tracker, _ = watch(
        record(1_000, 1, static, live=False),
        listed(20_000),
        listed(20_200, "g"),
        record(20_300, 1, member("a-2", ALL, instance="A")),
    )
    assert tracker.view("g").running is not None


def test_a_cooperative_group_stays_one_when_all_its_members_are_new():
    def coop(at, number, *members, **more):
        return record(at, number, *members, protocol="cooperative-sticky", **more)

    tracker, _ = watch(
        coop(1_000, 1, member("a", ALL)), coop(4_000, 2, member("a", ALL, owned=ALL)), coop(9_000, 3, member("b", ALL))
    )
    assert tracker.view("g").protocol is RebalanceProtocol.COOPERATIVE


def test_a_slow_poll_overtaken_by_a_later_one_changes_nothing():
    _, events = watch(
        *START,
        listed(19_800),
        listed(20_000),
        listed(19_900),
        listed(20_200, "g"),
        record(23_000, 2, member("a", ALL), joined=22_990),
        tick(60_000),
    )
    assert closing(events)[-1].phases.started_ms == T0 + 20_000


def test_polls_before_a_clock_was_set_back_are_removed():
    tracker, _ = watch(*START, listed(900_000), listed(20_000), listed(20_200, "g"))
    events = feed(tracker, record(23_000, 2, member("a", ALL), joined=22_990), tick(60_000))
    assert closing(events)[-1].phases.started_ms == T0 + 20_000


@pytest.mark.parametrize(("size", "kept"), [(USER_DATA_BYTES_MAX, True), (USER_DATA_BYTES_MAX + 1, False)])
def test_user_data_that_readers_of_events_would_refuse_is_omitted_except_for_its_size(size, kept):
    data = bytes(size)
    _, events = watch(topics(0, t=4), record(1_000, 1, member("a", ALL, user_data=data)), tick(60_000))
    (event,) = closing(events)
    assert event_from_json(json_object(json_line(event))) == event
    (only,) = event.members
    assert (only.user_data, only.user_data_bytes) == ((data, None) if kept else (None, size))
