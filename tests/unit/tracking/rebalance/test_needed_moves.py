"""The moves that a rebalance needs: partitions of a member that is gone must move."""

import pytest

from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import feed, member, record, tick, topics


def closing(*after, before):
    tracker = Tracker("c", settle_ms=0)
    events = feed(tracker, topics(0, t=6), record(1, 1, *before), record(1_000, 2, *after), tick(10_000))
    return events[-1]


@pytest.mark.parametrize(
    ("after", "moved", "needed"),
    [
        ((member("a", [0, 1, 4]), member("b", [2, 3, 5])), 2, 2),
        ((member("a", [2, 3, 4]), member("b", [0, 1, 5])), 6, 2),
        ((member("a", [0, 1, 4, 5]), member("b", [2, 3])), 2, 2),
    ],
)
def test_partitions_of_a_departed_member_had_to_move(after, moved, needed):
    before = (member("a", [0, 1]), member("b", [2, 3]), member("c", [4, 5]))
    event = closing(*after, before=before)
    assert (event.moved, event.needed) == (moved, needed)


def test_partitions_without_an_owner_after_the_rebalance_did_not_move():
    before = (member("a", [0, 1, 2]), member("c", [3, 4, 5]))
    event = closing(member("a", [0, 1, 2]), before=before)
    assert (event.moved, event.needed) == (0, 0)
