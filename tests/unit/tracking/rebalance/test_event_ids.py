from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from support.tracker.tracking import (
    T0,
    assigned,
    closing,
    feed,
    member,
    record,
    revoked,
    tick,
    tombstone,
    topics,
    triggers,
    watch,
)

STATIC = (
    topics(0, t=4),
    record(1_000, 0),
    record(4_000, 1, member("a-1", (0, 1), instance="A"), member("b-1", (2, 3), instance="B")),
)


def test_a_recreated_group_has_new_ids():
    life = (record(1_000, 0), record(4_000, 1, member("a", (0,))))
    again = (record(101_000, 0), record(104_000, 1, member("a", (0,))))
    _, events = watch(*life, tombstone(50_000), *again, tombstone(150_000), tick(151_000))
    assert len({event.event_id for event in events}) == len(events) == 4


def test_a_group_recreated_without_an_observed_tombstone_starts_again():
    _, events = watch(
        record(1_000, 0),
        record(4_000, 5, member("a", (0,))),
        record(50_000, 0),
        record(54_000, 1, member("b", (0,))),
        tick(99_000),
    )
    assert triggers(events) == [Trigger.GROUP_STARTED, Trigger.GROUP_STARTED]
    assert len({event.event_id for event in events}) == len(events)


def test_a_static_members_return_is_an_episode_within_its_generation():
    tracker, events = watch(
        *STATIC,
        tick(20_000),
        record(30_000, 1, member("a-2", (0, 1), instance="A"), member("b-1", (2, 3), instance="B"), joined=3_990),
        tick(60_000),
    )
    first, second = closing(events)
    assert (first.generation, second.generation) == (1, 1)
    assert first.event_id != second.event_id
    assert second.trigger is Trigger.MEMBER_REPLACED
    assert (second.phases.started_ms, second.phases.joined_ms) == (None, None)
    assert (second.moved, second.noop, second.followups) == (0, False, 0)
    assert second.stall.basis is Basis.BOUND
    assert (second.stall.seconds, second.stall.lower_seconds, second.stall.upper_partition_seconds) == (26.0, 0, 52.0)
    assert {each.member_id for each in tracker.view("g").members} == {"a-2", "b-1"}


def test_a_static_members_return_is_measured_by_its_own_reports():
    _, events = watch(
        *STATIC,
        revoked("a-1", 24_000, 24_010, 1, (0, 1)),
        record(30_000, 1, member("a-2", (0, 1), instance="A"), member("b-1", (2, 3), instance="B")),
        assigned("a-2", 30_010, 30_020, 1, (0, 1)),
        tick(60_000),
    )
    stall = closing(events)[-1].stall
    assert (stall.seconds, stall.basis) == (6.02, Basis.EXACT)


def test_two_static_returns_in_one_millisecond_are_two_facts():
    _, events = watch(
        *STATIC,
        record(30_000, 1, member("a-2", (0, 1), instance="A"), member("b-1", (2, 3), instance="B")),
        record(30_000, 1, member("a-2", (0, 1), instance="A"), member("b-2", (2, 3), instance="B")),
        tick(60_000),
    )
    assert triggers(events) == [Trigger.GROUP_STARTED, Trigger.MEMBER_REPLACED, Trigger.MEMBER_REPLACED]
    assert len({event.event_id for event in closing(events)}) == 3


def test_a_static_member_that_returns_with_a_rebalance_is_also_replaced():
    _, events = watch(
        *STATIC,
        record(30_000, 2, member("a-2", (0, 1), instance="A"), member("b-1", (2, 3), instance="B")),
        tick(60_000),
    )
    assert triggers(events)[-1] is Trigger.MEMBER_REPLACED
    assert closing(events)[-1].moved == 0


def test_a_rewritten_record_is_no_new_fact():
    rewritten = record(30_000, 1, member("a-1", (0, 1), instance="A"), member("b-1", (2, 3), instance="B"))
    tracker, events = watch(*STATIC, tick(20_000), rewritten, tick(60_000))
    assert len(events) == 1
    assert feed(tracker, rewritten) == []


def test_parts_of_a_split_event_differ():
    names = {event_id("generation", "c", "g", GroupType.CLASSIC, 1, T0, part=part) for part in range(3)}
    assert len(names) == 3


def test_another_cluster_gives_other_ids():
    assert event_id("generation", "c1", "g", GroupType.CLASSIC, 1, T0) != event_id(
        "generation", "c2", "g", GroupType.CLASSIC, 1, T0
    )
