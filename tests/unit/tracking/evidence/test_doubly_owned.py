from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.model.events import Callback
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.evidence.doubly_owned import (
    GENERATIONS_MAX,
    KEPT_MS,
    REMOVED_MAX,
    REWRITTEN_MS,
    UNREPORTED_MAX,
)
from support.tracker.epochs import current, fact, gone, joins, named, target
from support.tracker.tracking import (
    T0,
    WHOLE,
    assigned,
    feed,
    left,
    member,
    record,
    revoked,
    said,
    tick,
    topics,
    watch,
)

TWO = (
    topics(0, t=4),
    record(4_000, 1, member("a", (0, 1)), member("b", (2, 3))),
    assigned("a", 4_010, 4_020, 1, (0, 1)),
    assigned("b", 4_010, 4_020, 1, (2, 3)),
)
TAKEN = record(60_000, 2, member("b", (0, 1, 2, 3)))
"""The coordinator removed the member a; b has its partitions."""


def lost(started, partitions=(0, 1), name="a", generation=1, **more):
    return said(Callback.LOST, name, started, started + 5, generation, partitions, **more)


def doubly_owned(*observations):
    tracker, _ = watch(*observations)
    return tracker.view("g").counters.doubly_owned_partition_seconds


def test_a_removed_member_that_revokes_after_others_own_its_partitions_was_a_second_owner():
    tracker, _ = watch(*TWO, TAKEN)
    assert tracker.view("g").counters.doubly_owned_partition_seconds == 0
    assert tracker.view("g").former_owner is None
    version = tracker.view("g").version
    feed(tracker, lost(75_000))
    view = tracker.view("g")
    # It owned them for 70.990 s since its callback; 56 s lay between the records; 8 ms allow for drift and rounding.
    assert view.counters.doubly_owned_partition_seconds == pytest.approx(2 * 14.982)
    assert view.version > version
    former = view.former_owner
    assert (former.member_id, former.client_id, former.host) == ("a", "client-a", "10.0.0.1")
    assert (former.partitions, former.until_ms) == (2, T0 + 75_000)
    assert former.seconds == pytest.approx(14.982)


@pytest.mark.parametrize("callback", [Callback.LOST, Callback.REVOKED])
def test_either_callback_shows_a_second_owner(callback):
    assert doubly_owned(*TWO, TAKEN, said(callback, "a", 75_000, 76_000, 1, (0, 1))) == pytest.approx(2 * 14.982)


def test_each_partition_counts_from_the_time_of_its_new_owner():
    partly = record(60_000, 2, member("b", (0, 2, 3)))
    whole = record(70_000, 3, member("b", (0, 2, 3)), member("c", (1,)))
    assert doubly_owned(*TWO, partly, whole, lost(75_000)) == pytest.approx(14.982 + 4.982)


def test_a_partition_without_an_owner_is_not_counted():
    empty, again = record(65_000, 3), record(70_000, 4, member("c", (0, 1, 2, 3)))
    assert doubly_owned(*TWO, TAKEN, empty, again, lost(75_000)) == pytest.approx(2 * (5 + 4.982))
    assert doubly_owned(*TWO, record(60_000, 2), lost(75_000), record(80_000, 3, member("c", (0, 1, 2, 3)))) == 0


def test_the_report_may_come_before_the_record():
    assert doubly_owned(*TWO, lost(75_000), TAKEN) == pytest.approx(2 * 14.982)
    assert doubly_owned(*TWO, lost(75_000), record(60_000, 2), record(62_000, 3, member("c", (0, 1)))) == pytest.approx(
        2 * 12.982
    )


def test_a_report_counts_once():
    report = lost(75_000)
    assert doubly_owned(*TWO, TAKEN, report, report, lost(80_000)) == pytest.approx(2 * 14.982)


def test_members_that_report_nothing_are_not_counted():
    assert doubly_owned(*TWO, TAKEN, tick(900_000)) == 0
    assert doubly_owned(*TWO[:2], TAKEN) is None
    assert doubly_owned(*TWO[:2], TAKEN, lost(75_000)) == 0, "its clock offset is unknown"


def test_a_cleanly_leaving_member_is_not_counted():
    leaving = (revoked("a", 59_000, 59_900, 1, (0, 1)), left("a", 59_950, 1))
    assert doubly_owned(*TWO, *leaving, TAKEN) == 0
    assert doubly_owned(*TWO, TAKEN, *(replace(each, at_ms=T0 + 90_000) for each in leaving)) == 0


@pytest.mark.parametrize("ahead", [-3_600_000, -4_000, 4_000, 3_600_000])
def test_a_cleanly_leaving_member_with_a_wrong_clock_is_not_counted(ahead):
    """Everything is read an hour late, because reports from a clock further ahead would be rejected."""
    late = 4_000_000
    records = [replace(each, seen_ms=each.timestamp_ms + late) for each in (TWO[1], TAKEN)]
    ready = assigned("a", 4_010 + ahead, 4_020 + ahead, 1, (0, 1), received=late + 4_020)
    orderly = revoked("a", 59_000 + ahead, 59_900 + ahead, 1, (0, 1), received=late + 61_000)
    assert doubly_owned(TWO[0], records[0], ready, records[1], orderly) == 0
    expected = 14.982 if ahead > 0 else max(0, 14.992 + ahead / 1000)
    zombie = lost(75_000 + ahead, received=late + 75_000)
    assert doubly_owned(TWO[0], records[0], ready, records[1], zombie) == pytest.approx(2 * expected)


def test_a_cleanly_leaving_member_with_a_clock_step_is_not_counted():
    behind = assigned("a", 4_010 - 30_000, 4_020 - 30_000, 1, (0, 1))
    assert doubly_owned(*TWO[:2], behind, TAKEN, revoked("a", 59_000, 59_900, 1, (0, 1), received=61_000)) == 0


def test_a_cleanly_leaving_member_with_clock_drift_is_not_counted():
    day = 86_400_000
    taken = record(4_000 + day, 2, member("b", (0, 1, 2, 3)))
    orderly = revoked("a", 3_990 + day + 8_000, 4_000 + day + 8_000, 1, (0, 1), received=5_000 + day + 8_000)
    assert doubly_owned(*TWO, taken, orderly) == 0


def test_a_staying_member_revoked_its_partitions_before_it_rejoined():
    shared = record(60_000, 2, member("a", (0,)), member("b", (1, 2, 3)))
    assert doubly_owned(*TWO, shared, revoked("a", 75_000, 76_000, 1, (0, 1))) == 0


def test_a_report_of_an_earlier_generation_does_not_affect_the_last_one():
    again = record(20_000, 2, member("a", (0, 1)), member("b", (2, 3)))
    gone_a = record(60_000, 3, member("b", (0, 1, 2, 3)))
    steps = (again, assigned("a", 20_010, 20_020, 2, (0, 1)), gone_a)
    assert doubly_owned(*TWO, *steps, revoked("a", 19_000, 19_500, 1, (0, 1), received=61_000)) == 0
    assert doubly_owned(*TWO, revoked("a", 19_000, 19_500, 1, (0, 1)), *steps, lost(75_000, generation=2)) > 29


def test_a_static_member_replaced_by_another_process_was_a_second_owner():
    before = record(4_000, 1, member("a", (0, 1), instance="one"), member("b", (2, 3)))
    after = record(60_000, 1, member("a2", (0, 1), instance="one"), member("b", (2, 3)))
    assert doubly_owned(TWO[0], before, *TWO[2:], after, lost(75_000)) == pytest.approx(2 * 14.982)


def test_the_time_of_a_generation_is_that_of_its_first_record():
    before = record(4_000, 1, member("a", (0, 1), instance="one"), member("b", (2, 3)))
    again = record(60_000, 1, member("a2", (0, 1), instance="one"), member("b", (2, 3)))
    ahead = assigned("b", 50_010, 50_020, 1, (2, 3))  # was at 5,010 or later
    taken = record(95_000, 2, member("a2", (0, 1, 2, 3), instance="one"))
    orderly = revoked("b", 99_000, 99_010, 1, (2, 3))
    assert doubly_owned(TWO[0], before, ahead, again, taken, orderly) == 0
    late = [replace(each, value=replace(each.value, generation=each.value.generation + 4)) for each in (again, taken)]
    said_late = [replace(each, event=replace(each.event, generation=5)) for each in (ahead, orderly)]
    assert doubly_owned(TWO[0], late[0], said_late[0], late[1], said_late[1]) == 0


def test_partitions_of_redundant_strategies_have_several_owners_on_purpose():
    one = record(4_000, 1, member("a", (0, 1, 2, 3)), protocol="redundant")
    other = record(60_000, 2, member("b", (0, 1, 2, 3)), protocol="redundant")
    told = assigned("a", 4_010, 4_020, 1, (0, 1, 2, 3))
    assert doubly_owned(TWO[0], one, told, other, lost(75_000)) == 0
    both = record(4_000, 1, member("a", (0, 1)), member("b", (0, 1)), protocol="own")
    rest = record(60_000, 2, member("b", (0, 1)), protocol="own")
    assert doubly_owned(TWO[0], both, told, rest, lost(75_000)) == 0


def test_reports_of_a_gateway_are_not_counted():
    seen = lost(75_000)
    assert doubly_owned(*TWO, TAKEN, replace(seen, event=replace(seen.event, evidence=Evidence.GATEWAY))) == 0


def test_records_that_were_written_before_the_observer_are_not_counted():
    assert doubly_owned(TWO[0], replace(TWO[1], live=False), *TWO[2:], replace(TAKEN, live=False), lost(75_000)) == 0
    assert doubly_owned(*TWO, replace(TAKEN, replayed=True), lost(75_000)) == 0


@pytest.mark.parametrize("past", [False, True])
def test_a_generation_from_before_the_observer_has_the_time_of_the_groups_last_change_of_state(past):
    """Stable groups keep one generation for weeks; an observer that starts meanwhile reads its record and reports."""
    rewritten = record(30_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=4_005, live=False)
    told = [replace(each, past=past) for each in TWO[2:]]
    seconds = doubly_owned(TWO[0], rewritten, *told, TAKEN, lost(75_000))
    # It is at most as long as after the record itself; the record names a time at which members had the generation.
    assert seconds == pytest.approx(2 * (14.982 + (4_005 - 4_000 - REWRITTEN_MS) / 1_000))
    unnamed = replace(rewritten, value=replace(rewritten.value, current_state_timestamp_ms=-1))
    assert doubly_owned(TWO[0], unnamed, *told, TAKEN, lost(75_000)) == 0


def test_the_last_assigned_callback_is_known_however_old_it_is():
    """A cooperative member's last report may be of a revocation, long before it is removed."""
    partly = record(20_000, 2, member("a", (0,)), member("b", (1, 2, 3)))
    gave_up = revoked("a", 19_000, 19_010, 1, (1,))
    steps = [tick(at) for at in range(600_000, 3_000_000, 300_000)]
    taken, late = record(3_000_000, 3, member("b", (0, 1, 2, 3))), lost(3_010_000, (0,), generation=2)
    assert doubly_owned(*TWO, gave_up, partly, *steps, taken, late) == pytest.approx(10, abs=1)


def test_after_missing_records_removed_members_are_no_second_owners():
    after = replace(record(70_000, 4, member("b", (0, 1, 2, 3))), gap_offset=5, replayed=True)
    assert doubly_owned(*TWO, TAKEN, after, lost(75_000)) == 0


def test_a_report_is_awaited_for_an_hour():
    steps = [tick(at) for at in range(600_000, KEPT_MS + 1_300_000, 300_000)]
    assert doubly_owned(*TWO, TAKEN, *steps, lost(KEPT_MS + 1_300_000)) == 0
    before = [each for each in steps if each.at_ms < T0 + KEPT_MS]
    assert doubly_owned(*TWO, TAKEN, *before, lost(KEPT_MS)) > 0


@pytest.mark.no_cover  # other tests cover the same lines
def test_removed_members_are_bounded():
    many = tuple(range(REMOVED_MAX // 2 + 1))
    steps = [topics(0, t=len(many) * 3)]
    for number, name in enumerate(("a", "b", "c")):
        at = 4_000 + number * 50_000
        given = {"t": many}
        steps += [record(at, number + 1, member(name, given)), assigned(name, at + 1, at + 2, number + 1, given)]
    assert doubly_owned(*steps, lost(120_000, {"t": many}, "a")) == 0
    assert doubly_owned(*steps, lost(120_000, {"t": many}, "b", 2)) > 0


def test_the_times_of_generations_are_bounded():
    def passed(generations):
        stay = [record(4_000 + each, each, member("a", (0, 1)), member("b")) for each in range(2, generations)]
        return doubly_owned(*TWO[:3], *stay, record(60_000, 99, member("b", (0, 1))), lost(75_000))

    assert passed(GENERATIONS_MAX) > 0
    early = [record(3_000 + each, each, member("a", (0, 1)), member("b")) for each in range(1, UNREPORTED_MAX + 2)]
    told = [assigned("a", 4_010, 4_020, number, (0, 1)) for number in (1, 2)]
    assert doubly_owned(TWO[0], *early, told[0], record(60_000, 99, member("b", (0, 1))), lost(75_000)) == 0
    assert doubly_owned(TWO[0], *early, told[1], record(60_000, 99, member("b", (0, 1))), lost(75_000)) > 0
    assert passed(GENERATIONS_MAX + 1) == 0


def test_counters_of_a_recreated_group_restart():
    again = (
        record(100_000, 1, member("c", (0, 1))),
        assigned("c", 100_010, 100_020, 1, (0, 1)),
        record(160_000, 2, member("d", (0, 1))),
        lost(175_000, name="c"),
    )
    assert doubly_owned(*TWO, TAKEN, *again) == pytest.approx(2 * 14.982)


def test_the_first_value_is_counted_at_once():
    tracker, _ = watch(*TWO[:2], assigned("a", 4_010, 4_020, 1, (0, 1)), record(5_000, 2, member("b", (0, 1, 2, 3))))
    assert tracker.view("g").counters.doubly_owned_partition_seconds == 0
    feed(tracker, lost(6_000))
    assert tracker.view("g").counters.doubly_owned_partition_seconds == pytest.approx(2 * 0.989)


# Epoch groups


def consumer_group(**kind):
    return [
        WHOLE,
        named(),
        *(joins(1_000, name) for name in "ab"),
        fact(1_000, GroupEpoch(2), **kind),
        target(1_000, "a", 0, 1),
        target(1_000, "b", 2, 3),
        fact(1_000, TargetEpoch(2)),
        current(1_000, "a", 2, (0, 1)),
        current(1_000, "b", 2, (2, 3)),
        assigned("a", 1_010, 1_020, 2, (0, 1)),
    ]


REMOVED = [
    *gone(60_000, "a"),
    fact(60_000, GroupEpoch(3)),
    target(60_010, "b", 0, 1, 2, 3),
    fact(60_010, TargetEpoch(3)),
    current(61_000, "b", 3, (0, 1, 2, 3)),
]


def test_a_fenced_member_whose_partitions_were_reassigned_was_a_second_owner():
    assert doubly_owned(*consumer_group(), *REMOVED, lost(75_000, generation=2)) == pytest.approx(2 * 13.982)
    tracker, _ = watch(*consumer_group(), *REMOVED, lost(75_000, generation=2))
    assert tracker.view("g").former_owner.client_id == "client-a"


def test_a_fenced_member_that_rejoins_under_its_id_had_lost_its_partitions():
    back = [joins(76_000, "a"), fact(76_000, GroupEpoch(4)), current(76_000, "a", 4)]
    assert doubly_owned(*consumer_group(), *REMOVED, *back, lost(90_000, generation=2)) == pytest.approx(2 * 15)
    assert doubly_owned(*consumer_group(), *REMOVED, *back, revoked("a", 90_000, 90_100, 4, (0, 1))) == 0


def test_a_member_that_revokes_as_requested_is_no_second_owner():
    moves = [
        fact(60_000, GroupEpoch(3)),
        target(60_000, "a", 0),
        target(60_000, "b", 1, 2, 3),
        fact(60_000, TargetEpoch(3)),
        current(60_100, "a", 2, (0,), (1,)),
        current(61_000, "a", 3, (0,)),
        current(62_000, "b", 3, (1, 2, 3)),
    ]
    assert doubly_owned(*consumer_group(), *moves, revoked("a", 75_000, 75_100, 3, (1,))) == 0


def test_share_groups_are_not_counted():
    records = [
        replace(each, group_type=GroupType.SHARE) if hasattr(each, "group_type") else each
        for each in (*consumer_group(), *REMOVED)
    ]
    assert doubly_owned(*records, lost(75_000, generation=2)) == 0
