"""When a stall that went on after its rebalance was certainly over."""

import pytest

from rebalance_agent.model.episode import Basis
from rebalance_agent.model.group import GroupSnapshot, RebalanceProtocol
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange, FirstCommits, Outage
from rebalance_agent.tracking.rebalance.open_stall import LEAVING_MS, OpenStall
from support.tracker.tracking import T0, TWO_EAGER, assigned, closing, in_time, member, record, revoked, tick, watch

GIVEN_MS, TIMEOUT_MS = 10_000, 8_000
STALLED = OpenStall(5_000, GIVEN_MS, TIMEOUT_MS, FirstCommits(), frozenset())


def over(contact_ms, at_ms=90_000, **unanswered):
    value = GroupSnapshot("g", "consumer", 1, "range", "a", -1, ())
    generation = Generation(value, 90_000, 90_000, RebalanceProtocol.EAGER, **unanswered)
    return STALLED.over(("t", 0), at_ms, contact_ms=contact_ms, unanswered=generation.unanswered)


@pytest.mark.parametrize(("contact_ms", "left"), [(20_000, False), (20_001, True)])
def test_an_owner_in_contact_after_its_poll_interval_consumes(contact_ms, left):
    assert GIVEN_MS + TIMEOUT_MS + LEAVING_MS == 20_000
    assert over(contact_ms) is left


def test_an_owner_that_lost_the_partition_within_its_poll_interval_need_not_have_consumed_it():
    assert not over(contact_ms=90_000, at_ms=20_000)
    assert over(contact_ms=90_000, at_ms=20_001)


def test_each_time_without_answers_makes_the_next_one_count():
    """The coordinator changes at 15 s: the owner's time begins anew, so that an outage at 30 s falls into it, too."""
    changes, outages = (CoordinatorChange(15_000, 18_000),), (Outage(30_000, 31_000),)
    assert over(40_000, coordinator_changes=changes)
    assert over(40_000, outages=outages)
    assert not over(40_000, coordinator_changes=changes, outages=outages)


FIRST = assigned("a", 4_010, 4_020, 1, (0, 1)), assigned("b", 4_010, 4_030, 1, (2, 3))
"""Reports of the first generation."""

AGAIN = record(23_000, 2, member("a", (2, 3)), member("b", (0, 1)), joined=22_990)
"""Both members get other partitions."""

NEXT = (
    revoked("a", 20_500, 20_600, 1, (0, 1)),
    revoked("b", 20_500, 20_700, 1, (2, 3)),
    assigned("a", 23_005, 23_030, 2, (2, 3)),
    assigned("b", 23_005, 23_050, 2, (0, 1)),
)
"""Reports of the second one."""


def late(reports, at):
    return [type(report)(T0 + at, report.event) for report in reports]


def second_stall(events):
    """The stall of the second rebalance, as last published."""
    return [event.stall for event in closing(events) if event.generation == 2][-1]


@pytest.mark.parametrize("late_ms", [20_400, 60_000])
def test_a_late_report_ends_the_stall_of_its_rebalance_for_the_next_one_too(late_ms):
    """The reports of the first rebalance arrive when it has settled, and perhaps only when the next one has."""
    steps = in_time(*TWO_EAGER, tick(20_000), *late(FIRST, late_ms), AGAIN, *NEXT, tick(45_000), tick(80_000))
    _, events = watch(*steps, commits=False)
    stall = second_stall(events)
    assert stall.basis is Basis.EXACT
    assert stall.seconds == pytest.approx(2.55)


def test_one_late_report_does_not_end_the_stalls_of_others():
    steps = in_time(*TWO_EAGER, tick(20_000), *late(FIRST[:1], 20_400), AGAIN, *NEXT, tick(80_000))
    _, events = watch(*steps, commits=False)
    stall = second_stall(events)
    assert stall.basis is Basis.BOUND
    assert stall.seconds > 18
