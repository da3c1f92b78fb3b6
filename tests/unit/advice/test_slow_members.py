"""The member that a group waited for is the one that kept its partitions stalled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.advice.replay.recorded_history import history_of
from rebalance_agent.advice.slow_members import slow_member
from rebalance_agent.model.episode import Basis, Stall
from support.tracker.histories import clustered


def waiting(stall_seconds, *, member_seconds, basis=Basis.EXACT):
    """A history whose last rebalance stalled its partitions for ``stall_seconds``; its first member stopped last."""
    *earlier, last = clustered(8)
    stall = Stall(stall_seconds, stall_seconds, 10 * stall_seconds, basis)
    return history_of(
        [
            *(replace(each, slowest_member_id=None, slowest_seconds=None) for each in earlier),
            replace(last, stall=stall, slowest_member_id=last.members[0].member_id, slowest_seconds=member_seconds),
        ]
    )


def stopped(members, seconds):
    return tuple(replace(member, stop_seconds=seconds) for member in members)


def test_a_slow_member_is_found_if_waiting_for_it_stalled_partitions():
    found = slow_member(waiting(4.0, member_seconds=3.0))
    assert (found.seconds, found.stall_seconds, found.partition_seconds) == (3.0, 4.0, 30.0)


def test_the_time_until_it_stopped_is_that_of_the_rebalance_and_not_of_the_one_before():
    history = waiting(4.0, member_seconds=3.0)
    *earlier, last = history.generations
    former = [replace(each, members=stopped(each.members, 0.5)) for each in earlier]
    found = slow_member(history_of([*former, replace(last, members=stopped(last.members, 2.5))]))
    assert found.stop_seconds == 2.5


@pytest.mark.parametrize(("stall", "member"), [(0.1, 1.4), (0.9, 0.9), (8.0, 3.0)])
def test_no_slow_member_is_found_if_waiting_for_it_was_short(stall, member):
    assert slow_member(waiting(stall, member_seconds=member)) is None


def test_no_slow_member_is_found_if_the_stall_has_only_bounds():
    assert slow_member(waiting(4.0, member_seconds=3.0, basis=Basis.BOUND)) is None
