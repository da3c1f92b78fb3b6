"""The hourly cost of a group: exact sums of small histories, and the same as plain Python for large ones."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from rebalance_agent.api.posted_events import POSTED_KINDS
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent, ShareDeliveries
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent
from rebalance_agent.pipeline.tables.generation_spans import CLIENT_KINDS
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import INTERVAL_HOURS_MAX, group_hours
from rebalance_agent.tracking.tracker import Tracker
from support.observer.views import assign_event, member_event
from support.pipeline import aggregates
from support.pipeline.event_rows import (
    HOUR_MS,
    MONDAY_MS,
    aborted,
    events_frame,
    generation,
    gone,
    member,
    random_history,
)
from support.tracker.led_reports import led
from support.tracker.tracking import T0, feed, listed, record, tick, topics
from support.tracker.tracking import member as tracked

FIRST = MONDAY_MS // HOUR_MS
MINUTE_MS = 60_000


def computed(spark, events, **more):
    """(cluster id, group) -> hour since `MONDAY_MS` -> row."""
    frame = events_frame(spark, events, **{name: more.pop(name) for name in ("ingested_at",) if name in more})
    hours = group_hours(generations(frame), frame, **more)
    found = {}
    for row in hours.selectExpr("unix_millis(hour) AS begin", "*").collect():
        of_group = found.setdefault((row["cluster_id"], row["group"]), {})
        number = row["begin"] // HOUR_MS - FIRST
        assert number not in of_group
        of_group[number] = row.asDict(recursive=True)
    return found


def at(hours=0, minutes=0, seconds=0):
    return MONDAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + round(seconds * 1000)


FOUR = (0, 1, 2, 3)
ONE, TWO = [member("a", FOUR)], [member("a", (0, 1)), member("b", (2, 3))]


SEAT = SeatEvent("", "other", 0, Act.KEEP, ActOutcome.DONE, "m1", "p1", 1)
DELIVERIES = DeliveriesEvent("", "other", 0, ShareDeliveries(1, 2, 0, 2, 0, 0, 0), "p1", 1)
LATER = {
    event.KIND: event
    for event in (
        *(member_event(group="other"), assign_event(group="other"), led("other", 1)),
        *(SEAT, DELIVERIES),
    )
}
"""Kind -> an event of another group, which is the last event of its cluster."""


def small_histories():
    """Each history in its own cluster, which ends with its last event."""

    def generation_of(name):
        def made(at_ms, number, members=(), **fields):
            joined = {"trigger": Trigger.MEMBER_JOINED, "causes": (Trigger.MEMBER_JOINED,)}
            return generation(at_ms, number, members, cluster_id=name, **{**joined, **fields})

        return made

    cost = generation_of("cost")
    yield cost(at(0, 30), 1, ONE, stall=(10.0, 40.0), trigger=Trigger.GROUP_STARTED, skew_ratio=1.0)
    yield cost(at(1, 15), 2, TWO, stall=(2.0, 8.0), moved=3, needed=2, slowest_member_id="a", slowest_seconds=1.5)
    yield cost(at(1, 45), 3, ONE, stall=(4.0, 16.0), moved=2, needed=2, skew_ratio=1.5, flapping=("b",), noop=True)
    yield cost(at(4), 4, (), stall=(1.0, 4.0))
    yield aborted(at(4, 30), 6, 2, cluster_id="cost")
    yield cost(at(5), 7, ONE, trigger=Trigger.GROUP_STARTED)
    yield gone(at(5, 30), cluster_id="cost")
    yield aborted(at(9), 1, group="other", cluster_id="cost")

    over = generation_of("midnight")
    yield over(at(0), 1, ONE)
    yield over(at(2, 0, 30), 2, ONE, stall=(60 * 60 + 60.0, 3_660.0))
    yield aborted(at(3), 9, group="other", cluster_id="midnight")

    folded = generation_of("cooperative")
    yield folded(at(0), 1, ONE, stall=None)
    yield folded(
        at(0, 10), 2, [member("a", (0, 1)), member("b")], partitions=4, closes_episode=False, moved=2, unassigned=2
    )
    yield folded(at(0, 10, 1), 3, TWO, episode_generation=2, followups=1, stall=(1.0, 2.0), moved=2, needed=2)

    storm = generation_of("storm")
    for begin, gap in ((at(0, 59), 60), (at(3), 60.001), (at(5), 59)):
        for number in range(5):
            yield storm(begin + round(number * gap * 1000), 1 + number, ONE)
    for number in range(4):
        yield storm(at(7, 0, number), 1 + number, ONE)

    yield generation_of("for ever")(at(0), 1, ONE)
    yield aborted(at(0) + 3 * 366 * 24 * HOUR_MS, 9, group="other", cluster_id="for ever")

    for name, later in LATER.items():
        yield generation_of(name)(at(0), 1, ONE)
        yield aborted(at(2), 1, group="other", cluster_id=name)
        yield dataclasses.replace(later, timestamp_ms=at(5), cluster_id=name, event_id=name)

    yield generation_of("tomorrow")(at(0), 1, ONE, stall=(3e9, 1e3))
    yield generation(at(0) + 120_000_000 * 1000, 1, ONE, group="other", cluster_id="tomorrow")


@pytest.fixture(scope="module")
def small(spark):
    last = dt.datetime(2027, 6, 1, tzinfo=dt.UTC)
    return computed(spark, small_histories(), ingested_at=last)


def test_an_hour_contains_rebalances_completed_in_it(small):
    hours = small["cost", "g"]
    second = hours[1]
    expected = {
        "rebalances": 2,
        "by_trigger": {"member_joined": 2},
        "noops": 1,
        "followups": 0,
        "aborted": 0,
        "moved": 5,
        "moved_excess": 1,
        "stall_p50": 2.0,
        "stall_p95": 4.0,
        "stall_max": 4.0,
        "stalled_partition_seconds": 24.0,
        "partition_seconds": 4 * 3600.0,
        "availability": 1 - 24 / (4 * 3600),
        "skew_max": 1.5,
        "flapping": ["b"],
        "slowest_client_id": "client-a",
        "slowest_seconds": 1.5,
        "storms": 0,
    }
    assert {name: second[name] for name in expected} == expected


def test_the_start_of_a_group_counts_as_expected_working_time(small):
    first = small["cost", "g"][0]
    assert first["by_trigger"] == {"group_started": 1}
    assert first["stalled_partition_seconds"] == 40
    assert first["partition_seconds"] == 4 * 1800 + 40


def test_quiet_hours_count_and_those_without_members_do_not(small):
    hours = small["cost", "g"]
    assert {number: row["partition_seconds"] for number, row in hours.items()} == {
        0: 7240,
        1: 14400,
        2: 14400,
        3: 14400,
        4: 0,
        5: 7200,
    }
    quiet = hours[2]
    assert (quiet["rebalances"], quiet["stall_p50"], quiet["availability"], quiet["skew_max"]) == (0, None, 1.0, 1.5)
    assert quiet["by_trigger"] == {}


def test_a_rebalance_that_empties_a_group_costs_but_is_not_completed(small):
    hour = small["cost", "g"][4]
    assert (hour["rebalances"], hour["stall_max"], hour["aborted"]) == (0, 1.0, 2)
    assert hour["stalled_partition_seconds"] == 0
    assert small["cost", "g"][3]["stalled_partition_seconds"] == 4
    assert hour["availability"] is None


def test_a_stall_is_divided_among_its_hours(small):
    hours = small["midnight", "g"]
    spread = {number: row["stalled_partition_seconds"] for number, row in hours.items()}
    assert spread == {0: 30.0, 1: 3600.0, 2: 30.0}
    assert [row["rebalances"] for _, row in sorted(hours.items())] == [1, 0, 1]
    assert hours[1]["availability"] == 0.75


def test_an_episode_of_two_generations_is_one_rebalance(small):
    hour = small["cooperative", "g"][0]
    assert (hour["rebalances"], hour["followups"], hour["moved"], hour["stall_max"]) == (2, 1, 2, 1.0)


def test_a_storm_is_five_rebalances_each_at_most_a_minute_after_the_previous_one(small):
    storms = {number: row["storms"] for number, row in small["storm", "g"].items() if row["storms"]}
    assert storms == {0: 1, 5: 1}  # some series have four rebalances or longer pauses


def test_a_wrong_time_makes_no_more_rows_than_a_year_has_hours(small):
    assert len(small["for ever", "g"]) == INTERVAL_HOURS_MAX + 1  # the hour of the rebalance itself
    assert max(small["for ever", "g"]) == 3 * 366 * 24 - 1
    # Future hours do not count, and longer stalls are limited.
    assert len(small["tomorrow", "g"]) == 2 * INTERVAL_HOURS_MAX + 1
    assert sum(row["stalled_partition_seconds"] for row in small["tomorrow", "g"].values()) == pytest.approx(1e3)


def test_a_consumers_clock_does_not_prolong_other_groups(small):
    assert set(CLIENT_KINDS) == set(POSTED_KINDS)
    hours = {kind: sum(row["partition_seconds"] for row in small[kind, "g"].values()) / (4 * 3600) for kind in LATER}
    assert hours == {"member": 2, "assign": 2, "led_generation": 2, "seat": 5, "deliveries": 5}


def test_many_random_histories_agree_with_plain_python(spark):
    # One cluster per history, so that each has its own end.
    histories = {f"c{seed}": [*random_history(seed, group="g", cluster_id=f"c{seed}")] for seed in range(50)}
    histories = {cluster_id: events for cluster_id, events in histories.items() if events}
    for number, (cluster_id, events) in enumerate(histories.items()):
        events.append(aborted(events[-1].timestamp_ms + number * 977_777, 1, group="end", cluster_id=cluster_id))
    found = computed(spark, [event for events in histories.values() for event in events])
    hours_seen = 0
    for cluster_id, (*events, end) in histories.items():
        expected = aggregates.group_hours(events, end.timestamp_ms)
        rows = {FIRST + number: row for number, row in found.get((cluster_id, "g"), {}).items()}
        assert rows.keys() == expected.keys(), cluster_id
        for number, hour in expected.items():
            hours_seen += 1
            for name, value in hour.items():
                expected = pytest.approx(value, rel=1e-9, abs=1e-6) if isinstance(value, float) else value
                assert rows[number][name] == expected, (cluster_id, number, name)
    assert hours_seen > 1_000


def coop(at_ms, number, *members):
    return record(at_ms, number, *members, protocol="cooperative-sticky")


HISTORIES = {
    "eager": [
        record(4_000, 1, tracked("a", FOUR)),
        listed(29_000, "g"),
        record(30_000, 2, tracked("a", (0, 1)), tracked("b", (2, 3))),
        record(60_000, 4, tracked("a", FOUR)),
        record(90_000, 5, tracked("a", FOUR)),
        record(120_000, 6),
    ],
    "cooperative": [
        coop(4_000, 1, tracked("a", FOUR)),
        coop(30_000, 2, tracked("a", (0, 1), owned=FOUR), tracked("b")),
        coop(30_100, 3, tracked("a", (0, 1), owned=(0, 1)), tracked("b", (2, 3))),
        coop(60_000, 4, tracked("a", (2, 3), owned=(2, 3)), tracked("b", (0, 1), owned=(0, 1))),
    ],
    "stalled": [
        record(4_000, 1, tracked("a", (0, 1)), tracked("b", (2, 3))),
        listed(20_000, "g", state=GroupState.PREPARING_REBALANCE),
        record(30_000, 2, tracked("a", FOUR)),
    ],
}


def test_the_sums_equal_an_observers_counters(spark):
    counted, events = {}, []
    for name, history in HISTORIES.items():
        tracker = Tracker(name)
        beginning = (topics(0, t=4), listed(900), record(1_000, 0), listed(3_800, "g"))
        events += feed(tracker, *beginning, *history, tick(700_000))
        counted[name] = tracker.view("g").counters
    found = computed(spark, events)
    for name, counters in counted.items():
        rows = found[name, "g"].values()
        triggers = {}
        for row in rows:
            for trigger, number in row["by_trigger"].items():
                triggers[trigger] = triggers.get(trigger, 0) + number
        assert triggers == {trigger.value: number for trigger, number in counters.completed.items()}
        sums = {
            name: sum(row[name] for row in rows) for name in ("noops", "followups", "aborted", "moved", "moved_excess")
        }
        assert sums == {
            "noops": counters.noop,
            "followups": counters.followups,
            "aborted": counters.aborted,
            "moved": counters.moved,
            "moved_excess": counters.moved_excess,
        }
        stalled = sum(row["stalled_partition_seconds"] for row in rows)
        assert stalled == pytest.approx(counters.stalled_partition_seconds, abs=0.5)
    assert {T0 // HOUR_MS - FIRST} == {number for rows in found.values() for number in rows}
