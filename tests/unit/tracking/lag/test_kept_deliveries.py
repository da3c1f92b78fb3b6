"""The deliveries of a share group are the sum of its gateways' last reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.reported.deliveries_event import DELIVERED_MAX, DeliveriesEvent, ShareDeliveries
from rebalance_agent.tracking.evidence.kept_reports import ReportBudget
from rebalance_agent.tracking.lag.kept_deliveries import ALL_BYTES_MAX, DELIVERIES_BYTES, GATEWAYS_MAX, KeptDeliveries
from rebalance_agent.tracking.observations import MemberReported, Tick
from rebalance_agent.tracking.rebalance.episodes.group_episodes import REVISE_MAX_MS
from rebalance_agent.tracking.rebalance.group_history import GroupHistory
from rebalance_agent.tracking.tracker import Tracker
from support.memory import traced_memory
from support.tracker.epochs import group_of_two
from support.tracker.tracking import T0, feed
from unit.tracking.epoch.test_share_and_streams_groups import ALONE, followed, share

SUMS = ShareDeliveries(T0, 100, 10, 80, 5, 2, 1)


def event(process="p", sequence=1, sums=SUMS, **fields):
    return DeliveriesEvent(f"{process}-{sequence}", "g", T0 + 5_000, sums, process, sequence, **fields)


def reported(*events, past=False):
    return [MemberReported(T0 + 61_000 + number, each, past) for number, each in enumerate(events)]


def kept(*events):
    deliveries = KeptDeliveries(ReportBudget())
    for each in events:
        deliveries.add(each)
    return deliveries.total


def test_the_last_sums_of_each_gateway_are_added():
    later = ShareDeliveries(T0 - 500, 1, 0, 1, 0, 0, 0)
    total = ShareDeliveries(T0 - 500, 301, 30, 241, 15, 6, 3)
    three_times = ShareDeliveries(T0, 300, 30, 240, 15, 6, 3)
    assert kept(event("p"), event("q", sums=later), event("p", 2, three_times)) == total
    assert kept() is None


def test_late_and_repeated_reports_change_nothing():
    assert kept(event(sequence=5), event(sequence=5), event(sequence=4, sums=replace(SUMS, acquired=99))) == SUMS
    deliveries = KeptDeliveries(ReportBudget())
    assert [deliveries.add(event(sequence=number)) for number in (2, 2, 1, 3)] == [True, False, False, True]


def test_the_number_of_gateways_and_the_memory_are_bounded():
    budget = ReportBudget(DELIVERIES_BYTES * (GATEWAYS_MAX + 3))
    one, other = KeptDeliveries(budget), KeptDeliveries(budget)
    for number in range(GATEWAYS_MAX + 5):
        assert one.add(event(f"p{number}"))
    assert one.total.acquired == 100 * GATEWAYS_MAX
    assert [other.add(event(f"p{number}")) for number in range(5)] == [True] * 5
    assert other.total.acquired == 300
    one.clear()
    assert (one.total, budget.left) == (None, DELIVERIES_BYTES * GATEWAYS_MAX)


def test_without_room_a_group_keeps_its_newest_gateways_and_a_group_without_any_gets_none():
    budget = ReportBudget(2 * DELIVERIES_BYTES)
    one, other = KeptDeliveries(budget), KeptDeliveries(budget)
    for number in range(5):
        assert one.add(event(f"p{number}", sums=replace(SUMS, acquired=100 + number)))
    assert one.total.acquired == 103 + 104
    assert not other.add(event())
    assert other.total is None


def test_gateways_do_not_displace_the_reports_of_members():
    context = Tracker("cluster")._context
    left = context.report_budget.left
    deliveries = GroupHistory("g", context, T0).deliveries
    for number in range(GATEWAYS_MAX):
        deliveries.add(event(f"p{number}"))
    assert context.report_budget.left == left


def test_the_memory_of_a_report_is_counted():
    deliveries = KeptDeliveries(ReportBudget())
    with traced_memory() as used:
        for number in range(GATEWAYS_MAX):
            sums = ShareDeliveries(*(2**40 + number + each for each in (0, 9, 1, 2, 3, 4, 5)))
            deliveries.add(event(f"{number:032}", 10_000 + number, sums))
        assert used()[0] / GATEWAYS_MAX <= DELIVERIES_BYTES


def test_sums_are_bounded():
    most = ShareDeliveries(T0, *[DELIVERED_MAX] * 6)
    assert kept(event("p", sums=most), event("q", sums=most)) == most


@pytest.mark.parametrize(
    ("name", "value"), [("acquired", -1), ("accepted", DELIVERED_MAX + 1), ("since_ms", -1), ("redelivered", 101)]
)
def test_impossible_numbers_are_refused(name, value):
    with pytest.raises(InvalidInputError, match=rf"deliveries\.{name}"):
        replace(SUMS, **{name: value})


def test_the_memory_of_a_group_that_is_forgotten_is_free_again():
    tracker = Tracker("cluster")
    feed(tracker, *reported(event("p"), event("q")))
    budget = tracker._context.deliveries_budget
    assert budget.left == ALL_BYTES_MAX - 2 * DELIVERIES_BYTES
    feed(tracker, Tick(T0 + 61_000 + 2 * REVISE_MAX_MS))
    assert budget.left == ALL_BYTES_MAX, "no record of the group was read"


def test_the_view_of_a_share_group_has_its_deliveries():
    tracker, _ = followed(*ALONE)
    assert tracker.view("g").deliveries is None
    tracker.changed()
    feed(tracker, *reported(event()))
    assert (tracker.view("g").deliveries, tracker.changed()) == (SUMS, {"g"})
    feed(tracker, *reported(event()))
    assert tracker.changed() == set()
    feed(tracker, *share(70_000, 3, joins="b", a=(0, 1), b=(0, 1)))
    assert tracker.view("g").deliveries == SUMS


def test_reports_from_before_the_start_and_before_the_groups_records_count():
    tracker, _ = followed(*reported(event(), past=True), *ALONE)
    assert tracker.view("g").deliveries == SUMS


def test_reports_of_other_clusters_and_of_other_types_of_groups_are_not_shown():
    tracker, _ = followed(*ALONE, *reported(event(cluster_id="other")))
    assert tracker.view("g").deliveries is None
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, *group_of_two(), *reported(event()))
    assert tracker.view("g").deliveries is None
