"""Reports about members of share groups show how members departed, and neither stalls nor slow members."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Evidence, Trigger
from rebalance_agent.model.events import Callback
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import named
from support.tracker.tracking import WHOLE, assigned, closing, feed, left, revoked, said, tick
from unit.tracking.epoch.test_share_and_streams_groups import ALONE, SHARED, followed, share


def by_gateway(*reports):
    return [replace(each, event=replace(each.event, evidence=Evidence.GATEWAY)) for each in reports]


TWO = [*ALONE, *SHARED]
STEPS = {
    "one member has fewer partitions": (
        [*TWO, *share(20_000, 4, joins="c", a=(0,), b=(0, 1), c=(1,))],
        [revoked("a", 20_100, 20_100, 3, (1,)), assigned("c", 23_000, 24_000, 4, (1,))],
    ),
    "a partition moves": (
        [*TWO, *share(20_000, 4, joins="c", a=(0,), b=(0,), c=(0, 1))],
        [
            revoked("a", 20_100, 20_100, 3, (1,)),
            revoked("b", 20_200, 20_200, 3, (1,)),
            assigned("c", 24_000, 25_000, 4, (0, 1)),
        ],
    ),
    "both members leave": (
        [*TWO, *share(20_000, 4, leaves="ab", joins="cd", c=(0, 1), d=(0, 1))],
        [
            left("b", 12_500, 3),
            left("a", 19_800, 3),
            assigned("c", 20_010, 21_000, 4, (0, 1)),
            assigned("d", 25_000, 26_000, 4, (0, 1)),
        ],
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_reports_show_neither_a_stall_nor_a_slow_member(step):
    observed, reports = STEPS[step]
    without = closing(followed(*observed)[1])[-1]
    event = closing(followed(*observed, *by_gateway(*reports))[1])[-1]
    assert event.stall == without.stall
    assert event.stall.lower_seconds == 0
    assert event.phases == without.phases
    assert (event.slowest_member_id, event.slowest_seconds) == (None, None)
    assert [member.stop_seconds for member in event.members] == [None] * len(event.members)


def test_a_first_fetch_bounds_a_stall_of_a_group_that_commits_no_offsets():
    steps = [*ALONE, *share(20_000, 3, leaves="a", joins="bc", b=(0, 1), c=(0, 1))]
    reports = [assigned("b", 20_010, 20_500, 3, (0, 1)), assigned("c", 25_000, 26_000, 3, (0, 1))]

    def stall(*reported):
        tracker = Tracker("cluster", settle_ms=1_000)
        observed = (WHOLE, named(t=2), *steps, *by_gateway(*reported), tick(60_000))
        found = closing(feed(tracker, *observed, commits=False))[-1].stall
        return found.lower_seconds, found.seconds

    assert stall() == (0, None)
    assert stall(*reports) == (0, 25.0), "members b and c: the later one bounds the stall"
    assert stall(assigned("c", 25_000, 25_000, 3, (0, 1))) == (0, None), "member c has not fetched"


def test_a_member_that_reports_its_leave_has_left():
    steps = [*ALONE, *share(20_000, 3, leaves="a", joins="c", c=(0, 1))]
    assert closing(followed(*steps)[1])[-1].trigger is Trigger.MEMBER_GONE
    assert closing(followed(*steps, *by_gateway(left("a", 19_500, 2)))[1])[-1].trigger is Trigger.MEMBER_LEFT


def test_a_member_without_partitions_has_not_left_by_giving_them_up():
    """The coordinator took them in an epoch that another one replaced, and then the member failed."""
    steps = [*TWO, *share(20_000, 5, leaves="a", b=(0, 1))]
    reports = by_gateway(revoked("a", 19_000, 19_000, 3, (0, 1)))
    assert closing(followed(*steps, *reports)[1])[-1].trigger is Trigger.MEMBER_GONE


def test_a_fenced_member_failed():
    steps = [*TWO, *share(20_000, 4, leaves="a", b=(0, 1))]
    reports = by_gateway(said(Callback.LOST, "a", 19_900, 19_900, 3, (0, 1)))
    assert closing(followed(*steps, *reports)[1])[-1].trigger is Trigger.MEMBER_FAILED
