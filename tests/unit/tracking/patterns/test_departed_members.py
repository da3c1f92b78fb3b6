"""Members that failed or keep leaving: names, how they departed, how often, for how long."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.costly_members import DEPARTED_MAX, KEPT_MAX, DepartedMembers
from support.tracker.deploys import Group
from support.tracker.tracking import member

MINUTE_MS = 60_000


def _once(number, client):
    """A process of this member: it keeps its host, and has another member id each time."""
    return replace(member(f"{client}-{number}", [number], client=client), client_host="/10.0.0.1")


def kept(*departures):
    """What is shown after (minute, client id, how)."""
    members = DepartedMembers()
    for minute, client, how in departures:
        members.add([(minute * MINUTE_MS, _once(minute, client), how)])
    return [(each.client_id, each.how, each.times) for each in members.shown]


def test_a_member_that_failed_once_is_named_and_one_that_left_once_is_not():
    assert kept((1, "a", Departure.LEFT), (2, "b", Departure.FAILED)) == [("b", Departure.FAILED, 1)]


def test_a_member_that_departs_for_the_third_time_is_named_however_it_departed():
    twice = [(1, "a", Departure.UNKNOWN), (9, "a", Departure.LEFT)]
    assert kept(*twice) == []
    assert kept(*twice, (20, "a", Departure.LEFT)) == [("a", Departure.LEFT, 3)]


def test_departures_far_apart_are_those_of_deploys():
    assert kept(*((20 * number, "a", Departure.LEFT) for number in range(5))) == []
    assert kept((0, "a", Departure.FAILED), (20, "a", Departure.FAILED)) == [("a", Departure.FAILED, 1)]


def test_those_that_failed_come_first_then_those_that_departed_most_often():
    left = [(minute, "a", Departure.LEFT) for minute in range(5)]
    failed = [(6, "b", Departure.EXPELLED), (7, "c", Departure.FAILED), (8, "c", Departure.FAILED)]
    assert [name for name, *_ in kept(*left, *failed)] == ["c", "b", "a"]


def test_a_later_report_changes_how_it_departed_and_counts_nothing():
    found = kept((1, "a", Departure.FAILED), (2, "a", Departure.UNKNOWN), (2, "a", Departure.EXPELLED))
    assert found == [("a", Departure.EXPELLED, 2)]
    assert kept((2, "a", Departure.FAILED), (1, "a", Departure.LEFT)) == [("a", Departure.FAILED, 1)]


def test_members_with_equal_names_are_one_and_a_failure_is_not_hidden():
    members = DepartedMembers()
    pair = [_once(number, "a") for number in range(2)]
    members.add((MINUTE_MS, *each) for each in zip(pair, (Departure.FAILED, Departure.LEFT), strict=True))
    assert [(each.how, each.times) for each in members.shown] == [(Departure.FAILED, 1)]


def test_the_names_are_bounded_and_a_deploy_does_not_displace_who_failed():
    failed = [(minute, f"f{minute}", Departure.FAILED) for minute in range(DEPARTED_MAX + 2)]
    assert len(kept(*failed)) == DEPARTED_MAX
    members = DepartedMembers()
    members.add([(1, member("f", [0], client="f"), Departure.FAILED)])
    members.add((2, member(f"m{n}", [0], client=f"m{n}"), Departure.LEFT) for n in range(2 * KEPT_MAX))
    assert [each.client_id for each in members.shown] == ["f"]
    assert len(members._members) == KEPT_MAX


def test_the_view_names_a_member_that_keeps_leaving():
    group = Group("a", "b", "c")
    for _ in range(3):
        assert group.view.departed == ()
        group.restart("b", 60)
        group.wait(6)
    (departed,) = group.view.departed
    assert (departed.client_id, departed.how, departed.times) == ("orders-b", Departure.UNKNOWN, 3)


def test_a_rolling_restart_names_nobody():
    group = Group("a", "b", "c")
    for name in "abc":
        group.restart(name, 30)
    group.wait(6)
    assert group.view.departed == ()
