"""Compares a process's counters with the sums of its published events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.audit.audit_report import AuditReport
from rebalance_agent.audit.lifetime_counters import LifetimeCounters, check_lifetime
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Basis, Source, Stall
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.runtime.watch.audit_source import scraped
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, feed, member, record, tick, tombstone, topics

EVENTS = feed(
    Tracker("cluster", settle_ms=1_000),
    topics(0, t=4),
    record(1_000, 1, member("a", (0, 1, 2, 3))),
    record(5_000, 2, member("a", (0, 1)), member("b", (2, 3))),
    record(9_000, 5, member("a", (0, 1, 2, 3))),
    tick(20_000),
)


def counted(events):
    """The metrics of a process that published these events."""
    sums = {"aborted": sum(each.generations for each in events if each.KIND == "aborted")}
    for each in events:
        if each.KIND == "generation":
            for name in ("revoked", "assigned", "lost_min", "moved", "noop", "followups"):
                sums[name] = sums.get(name, 0) + getattr(each, name)
            sums["moved in excess"] = sums.get("moved in excess", 0) + max(0, each.moved - (each.needed or 0))
            sums["completed"] = sums.get("completed", 0) + 1
            name = f"completed by {each.trigger}"
            sums[name] = sums.get(name, 0) + 1
            if each.stall:
                sums["stalls"] = sums.get("stalls", 0) + 1
                sums["seconds of stalls"] = sums.get("seconds of stalls", 0) + each.stall.seconds
    return sums


def report_of(counters, events=EVENTS, **more):
    report = AuditReport()
    check_lifetime(LifetimeCounters("metrics.txt", {"g": counters}, events, **more), report)
    return report


def test_correct_sums_have_no_difference():
    report = report_of(counted(EVENTS))
    assert (report.clean, report.counters) == (True, 1)
    assert {"generation", "aborted"} == {each.KIND for each in EVENTS}


@pytest.mark.parametrize("name", [*counted(EVENTS), "completed by rejoin"])
def test_a_counter_wrong_by_one_is_named(name):
    counters = counted(EVENTS)
    (difference,) = report_of({**counters, name: counters.get(name, 0) + 1}).differences
    assert name in difference.what
    assert difference.group == "g"


def test_a_wrong_counter_is_found_among_thousands_of_rounded_ones():
    (first, *_) = EVENTS
    many = [replace(first, event_id=f"{number:032x}") for number in range(2_000)]
    right = counted(many)
    right["seconds of stalls"] = right.get("seconds of stalls", 0) + 0.9
    assert report_of(right, many).clean
    (difference,) = report_of({**right, "completed": right["completed"] - 1}, many).differences
    assert "completed is 1999, but its events give 2000" in difference.what


def test_exact_stalls_may_be_missing_only_in_the_first_scrape_that_has_their_series():
    bound, exact = Stall(2.0, 2.0, 8.0, Basis.BOUND), Stall(3.0, 3.0, 12.0, Basis.EXACT)
    closing = [each for each in EVENTS if each.KIND == "generation"]
    events = [replace(each, stall=bound if number == 0 else exact) for number, each in enumerate(closing)]
    right, measured = counted(events), len(events) - 1
    missing = {**right, "stalls": 1, "seconds of stalls": 2.0}
    assert report_of({**right, "stalls by exact": measured}, events).clean
    assert report_of({**missing, "stalls by exact": 0}, events).clean
    assert not report_of({**missing, "stalls by exact": 1}, events).clean
    assert not report_of(missing, events).clean
    for wrong in ({"stalls": 0}, {"stalls": measured + 2}, {"seconds of stalls": 1.9}):
        assert not report_of({**missing, **wrong, "stalls by exact": 0}, events).clean


def test_a_duplicate_event_counts_once():
    assert report_of(counted(EVENTS), [*EVENTS, *EVENTS]).clean


def test_a_revision_changes_no_counter():
    better = [replace(each, revision=1, lost_min=each.lost_min + 3) for each in EVENTS if each.KIND == "generation"]
    assert report_of(counted(EVENTS), [*EVENTS, *better]).clean


def test_repeated_events_are_not_counted_and_may_be_missing_only_after_a_rereading():
    assert not report_of(counted(EVENTS[1:])).clean
    assert report_of(counted(EVENTS[1:]), started_from_snapshot=True).clean


def test_repeated_events_are_at_most_the_records_read_again():
    """Otherwise a process that never counted anything would pass as one that only reported events again."""
    generations = sum(each.KIND == "generation" for each in EVENTS)
    assert report_of({}, started_from_snapshot=True).clean
    assert report_of({}, started_from_snapshot=True, replayed=generations).clean
    (difference,) = report_of({}, started_from_snapshot=True, replayed=generations - 1).differences
    assert difference.group == "g"
    assert (
        f"the counters of all groups lack {generations} published events (most of them of this group)"
        in difference.what
    )
    assert report_of(counted(EVENTS[1:]), started_from_snapshot=True, replayed=1).clean
    assert not report_of(counted(EVENTS[1:]), started_from_snapshot=True, replayed=0).clean


def test_events_repeated_after_the_scrape_are_excused_by_age_only():
    """The files do not contain the time of a report, and the scrape not the number of records read again after it."""
    last_ms = EVENTS[-1].timestamp_ms
    since = {"started_from_snapshot": True, "replayed": 0, "scraped_ms": last_ms + 1_000}
    assert not report_of({}, **since, settled_ms=500).clean
    assert report_of({}, **since, settled_ms=last_ms + 1_001 - T0).clean


def test_events_counted_before_the_deletion_of_their_group_are_not_repeated_ones():
    gone = feed(Tracker("cluster"), record(0, 1, member("a", (0,))), tombstone(1_000), tick(30_000))
    assert report_of(counted(EVENTS), [*gone, *EVENTS], started_from_snapshot=True, replayed=0).clean


def test_a_group_without_counters_is_judged_if_there_is_no_other_replica():
    assert report_without_counters(EVENTS, started_from_snapshot=True, replayed=len(EVENTS)).clean
    assert not report_without_counters(EVENTS, started_from_snapshot=True, replayed=1).clean


def test_repeated_events_are_the_first_by_record_but_not_always_by_time_of_report():
    aborted = next(each for each in EVENTS if each.KIND == "aborted")
    rest = [each for each in EVENTS if each is not aborted]
    reported = [aborted, *rest]  # it is reported at once, although generations may follow
    since = [each for each in rest if each.timestamp_ms >= aborted.timestamp_ms]
    assert 0 < len(since) < len(rest)
    assert not report_of(counted([aborted, *since]), reported).clean
    assert report_of(counted([aborted, *since]), reported, started_from_snapshot=True).clean
    assert not report_of(counted([aborted, *rest[:1]]), reported, started_from_snapshot=True).clean


def test_events_after_the_scrape_may_be_missing():
    assert not report_of(counted(EVENTS[:-1])).clean
    last_ms = EVENTS[-1].timestamp_ms
    assert report_of(counted(EVENTS[:-1]), scraped_ms=last_ms + 1_000, settled_ms=5_000).clean
    assert not report_of(counted(EVENTS[:-1]), scraped_ms=last_ms + 9_000, settled_ms=5_000).clean


def test_counters_of_a_deleted_group_restart():
    events = feed(Tracker("cluster"), record(0, 1, member("a", (0,))), tombstone(1_000), tick(30_000))
    assert isinstance(events[-1], GroupGoneEvent)
    again = [*events, *EVENTS]
    assert report_of(counted(EVENTS), again).clean
    assert not report_of(counted(EVENTS[1:]), again).clean


def test_counters_without_any_event_must_be_zero():
    assert report_of({"completed": 0}, []).clean
    assert not report_of({"completed": 1}, []).clean


def report_without_counters(events, **more):
    report = AuditReport()
    check_lifetime(LifetimeCounters("metrics.txt", {}, events, **more), report)
    return report


def test_a_group_with_events_and_no_counters_is_named():
    (difference,) = report_without_counters(EVENTS).differences
    assert (difference.group, difference.number) == ("g", 5)
    assert difference.what.startswith(
        "counters of metrics.txt: the group has no counters; aborted is 0, but its events give 2"
    )


def test_a_group_without_counters_was_deleted_or_is_too_new_or_was_only_polled():
    gone = feed(Tracker("cluster"), record(0, 1, member("a", (0,))), tombstone(1_000), tick(30_000))
    assert report_without_counters(gone).clean
    assert report_without_counters(EVENTS, scraped_ms=T0 + 1_500, settled_ms=5_000).clean
    assert report_without_counters([replace(each, source=Source.ADMIN) for each in EVENTS]).clean


def test_a_group_without_counters_is_not_judged_if_another_replica_may_own_it():
    report = report_without_counters(EVENTS, started_from_snapshot=True)
    assert (report.clean, report.counters) == (True, 0)
    assert report.unjudged == {"groups without counters, which may be another replica's": 1}


def test_counters_at_zero_prove_nothing_if_another_replica_may_have_reported_the_events():
    report = AuditReport()
    check_lifetime(LifetimeCounters("now", {"g": {"completed": 0.0}}, EVENTS, started_from_snapshot=True), report)
    assert (report.clean, report.counters) == (True, 0)
    assert report.unjudged == {"groups whose counters are all 0, which another replica may have reported": 1}
    alone = AuditReport()
    check_lifetime(LifetimeCounters("now", {"g": {"completed": 0.0}}, EVENTS), alone)
    assert not alone.clean


def test_a_scrape_is_read_by_group_with_its_triggers_and_its_time():
    scrape = scraped(
        'kafka_rebalance_completed_total{consumergroup="g",trigger="member_joined"} 2\n'
        'kafka_rebalance_completed_total{consumergroup="g",trigger="rejoin"} 1\n'
        'kafka_rebalance_failed_total{consumergroup="g",reason="aborted"} 4\n'
        'kafka_rebalance_failed_total{consumergroup="g",reason="assign_error"} 9\n'
        'kafka_rebalance_stall_seconds_count{consumergroup="g",basis="exact"} 1\n'
        'kafka_rebalance_stall_seconds_count{consumergroup="g",basis="bound"} 2\n'
        'rebalance_agent_last_poll_timestamp_seconds{poll="list"} 1700000000.5\n'
        "rebalance_agent_replayed_records_total 0\n"
    )
    assert scrape.counters == {
        "g": {
            "completed": 3,
            "completed by member_joined": 2,
            "completed by rejoin": 1,
            "aborted": 4,
            "stalls": 3,
            "stalls by exact": 1,
            "stalls by bound": 2,
        }
    }
    assert (scrape.at_ms, scrape.started_from_snapshot) == (T0 + 500, False)
    again, ready = "rebalance_agent_replayed_records_total 3\n", 'rebalance_agent_ready{part="offsets_topic"} 1\n'
    assert (scraped(again).started_from_snapshot, scraped(again).replayed) == (True, None)
    assert (scraped(again + ready).started_from_snapshot, scraped(again + ready).replayed) == (True, 3)
    shared = scraped(ready + 'rebalance_agent_ready{part="ownership"} 0\n')
    assert (shared.started_from_snapshot, shared.replayed) == (True, None)
    # The only replica also takes over all groups, once.
    alone = scraped(ready + "rebalance_agent_ownership_changes_total 1\n")
    assert (alone.started_from_snapshot, alone.replayed) == (False, 0)


@pytest.mark.parametrize("value", ["NaN", "+Inf"])
@pytest.mark.parametrize("name", ["kafka_rebalance_noop_total", "rebalance_agent_last_poll_timestamp_seconds"])
def test_a_scrape_with_nan_is_refused(name, value):
    with pytest.raises(InvalidInputError, match=f"has the value .* for {name}"):
        scraped(f'{name}{{consumergroup="g",poll="list"}} {value}\n')
