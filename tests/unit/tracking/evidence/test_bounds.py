"""Bounds of external input: clock steps, any names, floods of reports, groups and topics."""

from __future__ import annotations

import gc
import json
import time
from dataclasses import replace

import pytest

from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.model.event_json import event_from_json, json_line
from rebalance_agent.model.events import Callback, GroupGoneEvent
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.polls.member_events import parse_report
from rebalance_agent.tracking.cluster_topics import GONE_MAX, ClusterTopics
from rebalance_agent.tracking.evidence import kept_reports
from rebalance_agent.tracking.evidence.kept_reports import (
    EVENTS_PER_MEMBER_MAX,
    REPORT_BYTES_MAX,
    ReportBudget,
    report_bytes,
)
from rebalance_agent.tracking.evidence.member_reports import MemberReports
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import partition_seconds_at
from support.memory import traced_memory
from support.observer.fakes import FakeClock
from support.observer.scrapes import families
from support.tracker.epochs import current, fact, joins, named, target
from support.tracker.tracking import (
    T0,
    WHOLE,
    closing,
    feed,
    member,
    record,
    said,
    tick,
    tombstone,
    topics,
    triggers,
    watch,
)

DAY = 86_400_000
START = [topics(0, t=4), record(1_000, 0), record(4_000, 1, member("a", (0, 1, 2, 3)), joined=3_990)]


def test_a_group_of_any_name_is_reported_unchanged():
    name = ('say "hello"\n\\ \u2028 {group="x"} ' + "é" * 200)[:120]
    tracker, events = watch(
        topics(0, t=4), record(1_000, 0, group=name), record(4_000, 1, member("a", (0,)), group=name), tick(60_000)
    )
    assert [event_from_json(json.loads(json_line(event))) for event in events] == events
    page = GroupsPage(lambda: [tracker.view(group) for group in tracker.groups()], FakeClock(T0 + 60_000))
    shown = families(page.text())["kafka_rebalance_generation"]
    assert [sample.labels["consumergroup"] for sample in shown.samples] == [name]


def test_after_a_backward_clock_step_nothing_waits_for_the_former_time():
    tracker, events = watch(*START, tick(5_000))
    assert events == []
    assert triggers(feed(tracker, tick(4_000 - DAY))) == [Trigger.GROUP_STARTED]
    assert [type(event) for event in feed(tracker, tombstone(9_000), tick(-2 * DAY))] == [GroupGoneEvent]


def test_totals_continue_and_never_decrease_with_clock_steps():
    tracker, _ = watch(*START)
    scraped = []
    for at in (10_000, DAY, DAY + 5_000, 12_000, 15_000, 600_000):
        feed(tracker, tick(at))
        scraped.append(partition_seconds_at(tracker.view("g"), T0 + at).total)
    assert scraped == sorted(scraped)
    assert scraped[-1] - scraped[-2] == pytest.approx(4 * 585)


@pytest.mark.parametrize("off", [-10 * 365 * DAY, 10 * 365 * DAY])
def test_a_record_with_a_wrong_time_affects_at_most_a_day_and_the_next_ones_are_followed(off):
    odd = replace(record(30_000, 2, member("a", (0, 1)), member("b", (2, 3))), timestamp_ms=T0 + 30_000 + off)
    later = [record(60_000, 3, member("a", (0, 1, 2, 3))), tick(90_000)]
    tracker, events = watch(*START, odd, *later)
    assert [event.generation for event in closing(events)] == [1, 2, 3]
    assert all(event.stall is None or event.stall.seconds <= 86_400 for event in closing(events))
    again = [record(100_000, 0), record(103_000, 1, member("a", (0, 1, 2, 3))), tick(200_000)]
    assert triggers(feed(tracker, *again)) == [Trigger.GROUP_STARTED]
    assert [type(event) for event in feed(tracker, tombstone(210_000), tick(220_000))] == [GroupGoneEvent]


def test_a_coordinator_with_a_clock_behind_its_predecessors_is_followed():
    tracker = Tracker("cluster", settle_ms=1_000)
    first = [joins(9_000, "a"), fact(9_000, GroupEpoch(2)), target(9_000, "a", 0, 1), fact(9_000, TargetEpoch(2))]
    feed(tracker, WHOLE, named(t=2), *first, current(9_000, "a", 2, (0, 1)), tick(15_000))
    behind = [joins(8_000, "b"), fact(8_000, GroupEpoch(3)), target(8_000, "a", 0), target(8_000, "b", 1)]
    moved = [
        fact(8_000, TargetEpoch(3)),
        current(8_100, "a", 2, (0,), (1,), MemberState.UNREVOKED),
        current(8_200, "a", 3, (0,)),
        current(8_300, "b", 3, (1,)),
    ]
    (event,) = closing(feed(tracker, *behind, *moved, tick(30_000)))
    assert (event.trigger, event.moved, event.stall.seconds) == (Trigger.MEMBER_JOINED, 1, 0.2)


def test_the_total_of_reports_is_bounded_and_freed():
    reports = [said(Callback.ASSIGNED, f"m{number}", 1_000, 1_000, 1, (0,)) for number in range(5)]
    one = report_bytes(reports[0].event)
    budget = ReportBudget(10 * one)
    logs = [MemberReports(budget) for _ in range(3)]
    kept = [log.add(report.event, report.at_ms) for log in logs for report in reports]
    assert (sum(kept), budget.left) == (10, 0)
    logs[0].clear()
    assert budget.left == 5 * one
    logs[1].keep((), T0 + 2_000)
    assert budget.left == 10 * one


def test_endless_reports_of_one_member_are_bounded():
    budget = ReportBudget(10**9)
    log = MemberReports(budget)
    reports = [said(Callback.ASSIGNED, "m", number, number, 1, (0,)).event for number in range(1_000)]
    assert all(log.add(report, T0 + number) for number, report in enumerate(reports))
    assert budget.left == 10**9 - sum(map(report_bytes, reports[-EVENTS_PER_MEMBER_MAX:]))


def test_present_members_have_room_for_reports_after_departed_ones_are_removed():
    newcomer = said(Callback.ASSIGNED, "c", 9, 9, 1, (0,)).event
    budget = ReportBudget(4 * report_bytes(newcomer))
    log = MemberReports(budget)
    for number in range(4):
        for name in "ab":
            assert log.add(said(Callback.ASSIGNED, name, number, number, 1, (0,)).event, T0 + number)
    assert budget.left == 0
    assert not log.add(newcomer, T0 + 9)
    log.keep(("a", "b"), T0 + DAY)
    assert budget.left == 2 * report_bytes(newcomer)
    assert log.add(newcomer, T0 + 9)


def _reports(*names, at=1):
    return [said(Callback.ASSIGNED, name, at, at, 1, (0,)).event for name in names]


def test_reports_of_invented_members_are_dropped_for_those_of_members_in_records():
    invented, known = _reports(*(f"s{number}" for number in range(10))), _reports("a", "b", at=2)
    budget = ReportBudget(sum(map(report_bytes, invented)))
    hostile, other = MemberReports(budget), MemberReports(budget)
    assert all(hostile.add(report, T0 + 9, stranger=True) for report in invented)
    assert hostile.add(_reports("s9", at=3)[0], T0 + 9, stranger=True), "strangers replace older ones"
    assert (hostile.knows("s0"), hostile.knows("s1")) == (False, True)
    assert all(other.add(report, T0 + 9) for report in known)
    assert not any(hostile.knows(name) for name in ("s0", "s1", "s2"))
    assert other.knows("a")
    assert hostile.knows("s9")
    assert hostile.add(_reports("s9", at=4)[0], T0 + 9), "it is in a record now"
    for number in range(50):
        assert other.add(_reports("a", at=5 + number)[0], T0 + 99)
    assert hostile.knows("s9")
    assert other.knows("b")


def test_invented_members_of_a_group_leave_room_for_its_own(monkeypatch):
    monkeypatch.setattr(kept_reports, "MEMBERS_MAX", 4)
    log = MemberReports()
    for report in _reports("a", "b"):
        log.add(report, T0 + 9)
    for report in _reports(*"uvwxyz"):
        log.add(report, T0 + 9, stranger=True)
    assert [name for name in "abuvwxyz" if log.knows(name)] == ["a", "b", "y", "z"]
    (report,) = _reports("c")
    monkeypatch.setattr(kept_reports, "GROUP_BYTES_MAX", 3 * report_bytes(report))
    assert log.add(report, T0 + 9)
    assert [name for name in "abcyz" if log.knows(name)] == ["a", "b", "c"]


def test_a_stranger_becomes_a_member_with_the_record_that_names_it():
    early, later = (said(Callback.ASSIGNED, "a", at, at, 1, (0,)) for at in (3_900, 4_100))
    tracker, _ = watch(*START[:2], early)
    kept = tracker._groups.get("g").history.reports._kept
    assert list(kept._strangers) == ["a"]
    feed(tracker, START[2], later)
    assert list(kept._strangers) == []


def _claim(member, text, number=0, **texts):
    event = said(Callback.ASSIGNED, member, number, number, 1, ()).event
    return replace(event, partitions={"t": PartitionRanges(text)}, **texts)


def test_the_size_of_a_report_is_that_of_its_text_and_not_of_its_claimed_partitions():
    few, many = _claim("m", "0-9"), _claim("m", "0-99999")
    assert report_bytes(many) - report_bytes(few) == len("0-99999") - len("0-9")
    long = _claim("m", "0-9", error="e" * 60_000)
    assert report_bytes(long) - report_bytes(few) == 60_000


def test_members_that_claim_every_possible_partition_take_little_memory():
    with traced_memory() as used:
        budget = ReportBudget()
        logs = [MemberReports(budget) for _ in range(300)]
        before, _ = used()
        for number, log in enumerate(logs):
            assert log.add(parse_report(json_line(_claim(f"m{number}", "0-99999"))), T0 + 10_000)
        after, _ = used()
    # As lists of numbers these would be 300 x 4 MB.
    assert after - before <= REPORT_BYTES_MAX - budget.left < 10**6


def test_claims_of_one_member_leave_room_for_the_reports_of_others():
    log = MemberReports()
    assert all(log.add(_claim("a", "0-99999", number), T0 + 99) for number in range(EVENTS_PER_MEMBER_MAX))
    assert log.add(_claim("b", "0-9", 1), T0 + 99)


def test_deleted_groups_free_their_reports():
    tracker, _ = watch(*START, said(Callback.ASSIGNED, "a", 4_001, 4_002, 1, (0,)))
    feed(tracker, tombstone(60_000), tick(70_000))
    assert list(tracker.groups()) == []


@pytest.mark.no_cover  # many times over what others count
def test_ids_of_deleted_topics_are_dropped_eventually():
    catalogue = ClusterTopics()
    for at in range(0, 3 * GONE_MAX, 1_000):
        names = {f"t{number}": f"id-{number}" for number in range(at, at + 1_000)}
        catalogue.update(at, dict.fromkeys(names, 1), names)
    newest, oldest = 3 * GONE_MAX - 1, 0
    assert catalogue.name(f"id-{newest}") == f"t{newest}"
    assert catalogue.name(f"id-{newest - GONE_MAX}") == f"t{newest - GONE_MAX}"
    assert catalogue.name(f"id-{oldest}") == f"id-{oldest}"


def _cost(history):
    """Seconds of processor time, without garbage collections, which also visit objects of other tests."""
    gc.disable()
    try:
        begun = time.process_time()
        tracker, _ = watch(*history)
        return time.process_time() - begun, tracker
    finally:
        gc.enable()


def _arrivals(number):
    names = [f"group-{each}" for each in range(number)]
    yield topics(0, t=4)
    for at, generation in ((1_000, 0), (4_000, 1)):
        for name in names:
            members = [member("a", (0, 1, 2, 3))] if generation else []
            yield record(at, generation, *members, group=name)


@pytest.mark.no_cover  # many times over what others count
def test_ten_thousand_groups_at_once_cost_ten_times_as_much_as_a_thousand():
    few = min(_cost(_arrivals(1_000))[0] for _ in range(3))
    many, tracker = _cost(_arrivals(10_000))
    assert len(tracker.groups()) == len(tracker.changed()) == 10_000
    assert many < 30 * few  # quadratic would be 100 times


def _epoch(members):
    """Every member revokes a partition and gets its neighbour's: two records each."""
    share = {number: range(3 * number, 3 * number + 3) for number in range(members)}
    yield WHOLE
    yield named(t=3 * members)
    for number, has in share.items():
        yield joins(1_000, f"m{number}")
        yield target(1_000, f"m{number}", *has)
    yield fact(1_000, GroupEpoch(2))
    yield fact(1_000, TargetEpoch(2))
    for number, has in share.items():
        yield current(1_000, f"m{number}", 2, has)
    yield fact(10_000, GroupEpoch(3))
    yield fact(10_000, TargetEpoch(3))
    for number, has in share.items():
        yield current(11_000, f"m{number}", 2, has[1:], has[:1], MemberState.UNREVOKED)
    for number, has in share.items():
        yield current(12_000, f"m{number}", 3, (*has[1:], share[(number + 1) % members][0]))


@pytest.mark.no_cover  # many times over what others count
def test_a_record_of_a_large_groups_epoch_costs_no_more_than_one_of_a_small_groups():
    few = min(_cost(_epoch(60))[0] for _ in range(3))
    many, tracker = _cost(_epoch(600))
    assert tracker.view("g").generation == 3
    assert many < 30 * few  # quadratic would be 100 times


def _one_member_with(partitions):
    """Three rebalances without a commit, so each partition's stall stays open."""
    yield WHOLE
    yield topics(0, t=partitions)
    for number in range(1, 4):
        yield record(10_000 * number, number, member("a", tuple(range(partitions))), joined=10_000 * number - 10)
        yield tick(10_000 * number + 9_000)


@pytest.mark.no_cover  # many times over what others count
def test_the_cost_of_open_stalls_is_linear_in_partitions():
    few = min(_cost(_one_member_with(300))[0] for _ in range(3))
    many, tracker = _cost(_one_member_with(3_000))
    assert tracker.view("g").generation == 3
    assert many < 30 * few  # quadratic would be 100 times


def _long_names(groups, rebalances):
    yield topics(0, t=20)
    for number in range(1, rebalances + 1):
        for group in range(groups):
            at = 10_000 * number + group
            name = f"g{group}".ljust(30_000, "x")
            yield record(at, number, member("a", tuple(range(20))), group=name, joined=at - 5)
            yield tick(at)


def test_the_memory_of_groups_with_very_long_names_is_a_small_multiple_of_the_names():
    history = list(_long_names(20, 4))
    with traced_memory() as used:
        tracker, _ = watch(*history)
        kept, _ = used()
    assert len(tracker.groups()) == 20
    assert kept < 20 * 5 * 30_000, "a key for the commits of each partition would be 20 times the name"
