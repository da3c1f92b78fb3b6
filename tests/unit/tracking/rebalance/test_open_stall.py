"""When a stall that went on after its rebalance was certainly over."""

import pytest

from rebalance_agent.model.group import GroupSnapshot, RebalanceProtocol
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange, FirstCommits, Outage
from rebalance_agent.tracking.rebalance.open_stall import LEAVING_MS, OpenStall

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
