"""Generations that leaders report: their events and reports are compared with records that the observer cannot read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.audit.led_generations import CLOCKS_MS
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.tracking.observations import Tick
from rebalance_agent.tracking.observed_record import observed_generation
from rebalance_agent.tracking.tracker import Tracker
from support.observer.posted import ledger_of, posted
from support.tracker.tracking import feed, member, record, tombstone, topics

LATE_MS = 40
"""The gateway sees the response after the coordinator has written the record."""

ALONE = record(1_000, 1, member("a", (0, 1, 2, 3)), joined=900)
SHARED = record(5_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=4_500)
LEFT = record(9_000, 3, member("b", (0, 1, 2, 3)), joined=8_990)
EAGER = (ALONE, SHARED, LEFT)


def led(observation, **fields):
    """The leader's report of a generation."""
    value = observation.value
    members = tuple(
        LedMember(
            each.member_id, encode_subscription(each.subscription), encode_assignment(each.assignment), each.instance_id
        )
        for each in value.members
    )
    at_ms = observation.timestamp_ms + LATE_MS
    facts = (value.protocol, value.leader, value.current_state_timestamp_ms, members, 45_000, 300_000, "p")
    event = LedGenerationEvent(
        f"l{value.generation}", "g", at_ms, value.generation, *facts, value.generation, "cluster"
    )
    return replace(event, **fields)


def made(*reports):
    """The events that an observer makes of reports."""
    seen = (observed_generation(report, report.timestamp_ms) for report in reports)
    return list(
        feed(Tracker("cluster", settle_ms=1_000), topics(0, t=4), *seen, Tick(reports[-1].timestamp_ms + 400_000))
    )


def audit(events, reports, observations=EAGER, **window):
    records = [posted(*each) for each in zip(observations, range(len(observations)), strict=True)]
    return ledger_of([*reports, *events], records, **window)


def said(found):
    return [(each.number, each.what) for each in found.differences]


def test_events_that_were_made_of_reports_agree_with_the_records():
    reports = [led(each) for each in EAGER]
    events = made(*reports)
    assert {event.source for event in events} == {Source.FRAMES}
    found = audit(events, reports)
    assert (said(found), found.agreed, found.unjudged) == ([], 3, {})


def test_a_generation_that_nobody_reported_needs_no_event():
    reports = [led(ALONE), led(LEFT)]
    found = audit(made(*reports), reports)
    assert said(found) == []
    assert (found.agreed, found.unjudged) == (2, {"that no gateway or leader reported": 1})


def test_a_reported_generation_needs_an_event():
    reports = [led(each) for each in EAGER]
    found = audit(made(led(ALONE), led(LEFT)), reports)
    assert said(found) == [(2, "generation 2 has no event")]
    assert audit(made(led(ALONE)), reports[:2], EAGER[:2], until_ms=SHARED.timestamp_ms, grace_ms=5_000).pending == 1


def test_other_assignments_are_a_difference():
    reports = [led(each) for each in EAGER]
    events = made(*reports)
    swapped = tuple(
        replace(one, assigned=other.assigned)
        for one, other in zip(events[1].members, events[1].members[::-1], strict=True)
    )
    events[1] = replace(events[1], members=swapped)
    assert said(audit(events, reports)) == [(2, "generation 2: its assignments differ from those in the event")]


def test_a_wrong_report_is_a_difference_also_beside_events_of_records():
    wrong = replace(led(SHARED), members=led(SHARED).members[:1])
    by_records = list(
        feed(Tracker("cluster", settle_ms=1_000), topics(0, t=4), *EAGER, Tick(LEFT.timestamp_ms + 400_000))
    )
    found = audit(by_records, [led(ALONE), wrong, led(LEFT)])
    assert said(found) == [(2, "generation 2: its leader reported other assignments (events:2)")]


@pytest.mark.parametrize("number", [2, 4])
def test_an_event_without_a_record_is_a_difference(number):
    """A second event about a generation, or an event about a generation that never was."""
    reports = [led(each) for each in EAGER]
    events = made(*reports)
    other = replace(events[1], generation=number, timestamp_ms=events[1].timestamp_ms + 3_000, event_id="other")
    assert said(audit([*events, other], reports)) == [(number, f"generation {number} has no record")]


def test_the_clocks_may_differ_by_a_minute():
    assert audit_late(CLOCKS_MS) == [[], []]
    missing, invented = audit_late(CLOCKS_MS + 1)
    assert (missing, invented) == ([], [(1, "generation 1 has no record")])


def audit_late(late_ms):
    report = replace(led(ALONE), timestamp_ms=ALONE.timestamp_ms + late_ms)
    found = said(audit(made(report), [report], EAGER[:1]))
    is_invented = [each for each in found if each[1].endswith("no record")]
    return [[each for each in found if each not in is_invented], is_invented]


def test_the_parts_of_a_large_generation_are_added_up():
    (event,) = made(led(SHARED))
    parts = [
        replace(event, members=event.members[part : part + 1], part=part, parts=2, event_id=f"part {part}")
        for part in range(2)
    ]
    for order in (parts, parts[::-1]):
        assert said(audit(order, [led(SHARED)], [SHARED])) == []
    assert said(audit(parts[:1], [led(SHARED)], [SHARED]))


def test_a_group_that_was_created_again_repeats_its_numbers():
    again = record(3_000, 1, member("a", (0, 1)), joined=2_900)
    found = audit([*made(led(ALONE)), *made(led(again))], [led(ALONE), led(again)], [ALONE, tombstone(2_000), again])
    assert [what for _, what in said(found)] == []


def test_events_of_another_cluster_are_left_out():
    other = [replace(event, cluster_id="other") for event in made(led(ALONE))]
    assert all(isinstance(event, GenerationEvent) for event in other)
    assert audit(other, [led(ALONE, cluster_id="other")], ()).empty
