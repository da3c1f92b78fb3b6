"""An error in one group's due work loses no event of another group."""

import pytest

from rebalance_agent.tracking.groups import ObservationError
from rebalance_agent.tracking.observations import Tick
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, member, record

GROUPS = "abc"


def settled(failing):
    """The groups whose rebalance settles, and the errors, if the due work of one group fails."""
    tracker = Tracker("cluster", settle_ms=1_000)
    for group in GROUPS:
        tracker.observe(record(1_000, 1, member("m", (0,)), group=group))
        tracker.observe(record(10_000, 2, member("m", (0,)), member("n", (1,)), group=group))
    for group in failing:
        tracker._groups.get(group).pass_time = lambda _: 1 / 0
    try:
        events, errors = tracker.observe(Tick(T0 + 60_000)), ()
    except ObservationError as error:
        events, errors = error.events, error.__cause__.exceptions
    return [event.group for event in events if event.generation == 2], errors


def test_without_errors_all_groups_settle():
    assert settled("") == ([*GROUPS], ())


@pytest.mark.parametrize("failing", ["a", "b", "ac"])
def test_the_other_groups_settle(failing):
    groups, errors = settled(failing)
    assert groups == [group for group in GROUPS if group not in failing]
    assert [type(error) for error in errors] == [ZeroDivisionError] * len(failing)
