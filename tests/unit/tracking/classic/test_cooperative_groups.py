import pytest

from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupState, RebalanceProtocol
from rebalance_agent.tracking.views import RunningRebalance
from support.tracker.tracking import (
    REBALANCE_MS,
    SILENT_MS,
    T0,
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
    topics,
    triggers,
    watch,
)

ALL = (0, 1, 2, 3)


def coop(at, generation, *members, **more):
    return record(at, generation, *members, protocol="cooperative-sticky", **more)


START = (topics(0, t=4), coop(1_000, 0), coop(4_000, 1, member("a", ALL), joined=3_990), tick(9_000))
FIRST = (
    listed(20_000),
    listed(20_200, "g"),
    coop(23_000, 2, member("a", (0, 1), owned=ALL), member("b"), joined=22_990),
)
SECOND = (
    listed(23_020, "g"),
    coop(23_080, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)), joined=23_070),
)
_NONE_OWNED = member("a", (0, 1)), member("b", (2, 3))


def test_a_follow_up_belongs_to_its_episode():
    tracker, events = watch(*START, *FIRST, *SECOND, tick(60_000))
    first, second = [event for event in events if isinstance(event, GenerationEvent)][1:]
    assert (first.generation, first.closes_episode, first.stall, first.episode_generation) == (2, False, None, 2)
    assert (second.generation, second.closes_episode, second.followups, second.episode_generation) == (3, True, 1, 2)
    assert (second.trigger, second.causes) == (Trigger.MEMBER_JOINED, (Trigger.MEMBER_JOINED,))
    assert second.protocol is RebalanceProtocol.COOPERATIVE
    assert (second.moved, second.needed, second.revoked, second.assigned) == (2, 2, 2, 2)
    counters = tracker.view("g").counters
    assert (counters.followups, counters.completed[Trigger.MEMBER_JOINED], counters.moved) == (1, 1, 2)


def test_the_wait_for_the_slowest_member_is_not_hidden_by_the_quick_follow_up():
    tracker, events = watch(*START, *FIRST, *SECOND, tick(60_000))
    view, follow_up = tracker.view("g"), closing(events)[-1].phases
    assert (follow_up.join_seconds, follow_up.sync_seconds) == pytest.approx((0.07, 0.01))
    assert (view.last_join_seconds, view.last_sync_seconds) == pytest.approx((2.99, 0.01))


def test_only_moved_partitions_stall():
    _, events = watch(*START, *FIRST, *SECOND, tick(60_000))
    stall = closing(events)[-1].stall
    assert stall.seconds == 0.08, "between the two records, not from the start of the rebalance"
    assert stall.lower_seconds == 0.01
    assert stall.upper_partition_seconds == pytest.approx(2 * 0.08)
    assert stall.basis is Basis.BOUND


def test_reports_measure_each_moved_partition():
    _, events = watch(
        *START,
        *FIRST,
        assigned("b", 23_004, 23_004, 2, ()),
        revoked("a", 23_005, 23_045, 2, (2, 3)),
        *SECOND,
        assigned("b", 23_084, 23_095, 3, (2, 3)),
        assigned("a", 23_084, 23_084, 3, ()),
        tick(60_000),
    )
    event = closing(events)[-1]
    assert event.stall.basis is Basis.EXACT
    assert event.stall.seconds == pytest.approx(0.09)
    assert event.slowest_member_id == "a"


def test_the_episode_runs_while_its_follow_up_is_awaited():
    tracker, _ = watch(*START, *FIRST)
    view = tracker.view("g")
    assert view.state is GroupState.STABLE
    assert view.running == RunningRebalance(T0 + 20_000, 0, unsure_partitions=2), "a may process them until it polls"
    feed(tracker, SECOND[-1])
    assert tracker.view("g").running is None


def test_withheld_partitions_stand_still_once_when_their_owner_reports_it():
    tracker, _ = watch(*START, *FIRST, revoked("a", 23_005, 23_045, 2, (2, 3)), listed(23_070, "g"))
    assert tracker.view("g").running == RunningRebalance(T0 + 20_000, 2, unsure_partitions=0)


@pytest.mark.parametrize("reports", [(), (revoked("a", 23_005, 23_045, 2, (2, 3)),)], ids=["silent", "reporting"])
def test_a_long_wait_for_the_follow_up_counts_no_more_than_its_lower_bound(reports):
    third = coop(43_000, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)), joined=42_990)
    tracker, events = watch(*START, *FIRST, *reports, listed(23_070, "g"), third, tick(90_000))
    lower = sum(event.stall.partition_seconds for event in closing(events))
    assert tracker.view("g").counters.stalled_partition_seconds == pytest.approx(lower)


def test_a_missing_follow_up_is_awaited_up_to_the_rebalance_timeout():
    tracker, events = watch(*START, *FIRST, tick(23_000 + REBALANCE_MS - 1))
    assert tracker.view("g").running is not None
    events = feed(tracker, tick(23_000 + REBALANCE_MS), tick(23_000 + REBALANCE_MS + 5_000))
    (event,) = closing(events)
    assert (event.generation, event.followups, event.unassigned) == (2, 0, 2)
    assert tracker.view("g").running is None


def follow_up(at, **more):
    return coop(at, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)), joined=at - 10, **more)


@pytest.mark.parametrize("read", [0, 2_000], ids=["in time", "after the wait"])
def test_a_follow_up_that_was_written_in_time_belongs_to_its_episode_whenever_it_is_read(read):
    """An observer that starts again reads both at once, and would form another episode."""
    written, waited = 23_000 + REBALANCE_MS - 700, tick(23_000 + REBALANCE_MS)
    observations = (follow_up(written), waited) if not read else (waited, follow_up(written, delay=read))
    tracker, events = watch(*START, *FIRST, *observations, tick(written + 60_000))
    assert [(event.generation, event.followups) for event in closing(events)] == [(1, 0), (3, 1)]
    counters = tracker.view("g").counters
    assert (counters.followups, counters.moved) == (1, 2)
    lower = sum(event.stall.partition_seconds for event in closing(events))
    assert counters.stalled_partition_seconds == pytest.approx(lower)


def test_a_generation_that_was_written_after_the_wait_is_another_episode_whenever_it_is_read():
    """The observer's clock is two seconds behind the coordinator's."""
    _, events = watch(*START, *FIRST, follow_up(23_001 + REBALANCE_MS, delay=-2_000), tick(23_000 + 2 * REBALANCE_MS))
    assert [(event.generation, event.followups) for event in closing(events)] == [(1, 0), (2, 0), (3, 0)]


def test_a_join_that_moves_nothing_stalls_nothing():
    _, events = watch(*START, coop(23_000, 2, member("a", ALL, owned=ALL), member("b"), joined=22_990), tick(60_000))
    event = closing(events)[-1]
    assert (event.stall.seconds, event.stall.upper_partition_seconds, event.stall.basis) == (0, 0, Basis.EXACT)
    assert (event.moved, event.revoked, event.assigned, event.noop) == (0, 0, 0, True)


DEATH = (
    *START,
    *FIRST,
    *SECOND,
    listed(80_000),
    listed(80_200, "g"),
    coop(83_000, 4, member("a", ALL, owned=(0, 1)), joined=82_990),
)


def test_only_the_partitions_of_a_failed_member_stall():
    _, events = watch(*DEATH, tick(99_000))
    stall = closing(events)[-1].stall
    assert stall.seconds == pytest.approx((3_000 + SILENT_MS) / 1000)
    assert triggers(events)[-1] is Trigger.MEMBER_GONE


def test_the_lower_bound_of_a_departed_member_without_a_report_begins_at_its_departure():
    _, events = watch(*DEATH, tick(99_000))
    stall = closing(events)[-1].stall
    assert stall.upper_partition_seconds == pytest.approx(2 * (3_000 + SILENT_MS) / 1000)
    assert stall.partition_seconds == pytest.approx(2 * stall.lower_seconds)


def test_a_member_that_reported_and_failed_stalls_for_its_session_timeout():
    _, events = watch(*in_time(*DEATH, assigned("b", 23_000, 23_001, 2, (2,))), tick(99_000))
    assert triggers(events)[-1] is Trigger.MEMBER_FAILED
    assert closing(events)[-1].stall.upper_partition_seconds == pytest.approx(2 * (3_000 + SILENT_MS) / 1000)


def test_during_a_rebalance_only_partitions_of_departed_members_are_counted():
    tracker, _ = watch(*in_time(*DEATH[:-1], left("b", 80_010, 3)))
    assert tracker.view("g").running.stalled_partitions == 2


def test_a_partition_that_returns_to_its_owner_was_stalled():
    _, events = watch(
        *START,
        *FIRST,
        coop(23_080, 3, member("a", ALL, owned=(0, 1)), joined=23_070),
        tick(60_000),
    )
    event = closing(events)[-1]
    assert event.stall.seconds == 0.08
    assert (event.moved, event.revoked, event.assigned) == (0, 2, 2)
    assert event.causes == (Trigger.MEMBER_GONE, Trigger.MEMBER_JOINED)


def test_a_second_join_during_the_follow_up_is_part_of_the_episode():
    _, events = watch(
        *START,
        *FIRST,
        coop(24_000, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2,)), member("c", (3,)), joined=23_990),
        tick(60_000),
    )
    assert triggers(events) == [Trigger.GROUP_STARTED, Trigger.MEMBER_JOINED]


def test_a_member_that_never_learned_that_it_lost_its_partitions_works_until_it_revokes_them():
    """b never learns of generation 2, which gave it all; a, which owned them before, joins again."""
    _, events = watch(
        *START,
        coop(20_000, 2, member("b", ALL), joined=19_990),
        coop(23_000, 3, member("a", (0, 1), owned=ALL), member("b"), joined=22_990),
        coop(29_000, 4, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3)), joined=28_990),
        tick(60_000),
    )
    assert closing(events)[-1].stall.lower_seconds == pytest.approx(0.01)


def test_a_cooperative_name_alone_proves_no_protocol():
    tracker, _ = watch(*START)
    assert tracker.view("g").protocol is RebalanceProtocol.UNKNOWN
    feed(tracker, coop(23_000, 2, member("a", (0, 1)), member("b", (2, 3))))
    assert tracker.view("g").protocol is RebalanceProtocol.EAGER, "a rejoined without claims"


def test_cooperative_members_that_lost_all_partitions_may_have_stopped_long_before_the_rebalance():
    """franz-go drops all partitions after an error, waits, and rejoins under the same id."""
    lost = (listed(39_990), listed(40_000, "g"), coop(41_000, 4, *_NONE_OWNED, joined=40_990))
    again = (listed(59_990), listed(60_000, "g"), coop(61_000, 5, *_NONE_OWNED, joined=60_990))
    more = member("a", (0,)), member("b", (2, 3)), member("c", (1,))
    joined = (listed(79_990), listed(80_000, "g"), coop(81_000, 6, *more, joined=80_990))
    _, events = watch(*START, *FIRST, *SECOND, *lost, tick(50_000), *again, tick(70_000), *joined, tick(110_000))
    first, second, third = closing(events)[-3:]
    assert first.protocol is RebalanceProtocol.COOPERATIVE
    assert (first.stall.lower_seconds, first.stall.seconds) == (0.01, 41.0 - 23.08)
    assert second.stall.seconds == 20.0, "since generation 4, although no member proved again that it is cooperative"
    assert third.stall.seconds == 20.0, "since generation 5, because not only the new member may have begun"


def test_members_that_lost_all_partitions_are_cooperative_under_another_cooperative_assignor():
    members = member("a", (0, 1)), member("b", (2,)), member("c", (3,))
    lost = record(41_000, 4, *members, joined=40_990, protocol="cooperative-range")
    last = closing(watch(*START, *FIRST, *SECOND, listed(39_990), listed(40_000, "g"), lost, tick(90_000))[1])[-1]
    assert (last.protocol, last.stall.seconds) == (RebalanceProtocol.COOPERATIVE, 41.0 - 23.08)


def test_ownership_hints_do_not_make_an_eager_assignor_cooperative():
    tracker, events = watch(
        record(1_000, 1, member("a", ALL), protocol="failover"),
        record(23_000, 2, member("a", (), owned=ALL), member("b", ALL), protocol="failover"),
        tick(60_000),
    )
    assert tracker.view("g").protocol is RebalanceProtocol.EAGER
    assert closing(events)[-1].followups == 0
    assert len(closing(events)) == 2


def test_an_endless_chain_of_follow_ups_is_split_into_episodes():
    chain = [coop(30_000 + n * 10, 2 + n, member("a", (0,), owned=(0, 1))) for n in range(20)]
    _, events = watch(*START, *chain, tick(300_000), tick(310_000))
    assert [event.followups for event in closing(events)[1:]] == [15, 3]
