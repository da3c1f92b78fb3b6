from __future__ import annotations

import dataclasses

import pytest
from structlog.testing import capture_logs

from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent, ShareDeliveries
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent
from rebalance_agent.model.reported.workload import WHERE_MAX, Workload
from rebalance_agent.runtime.processes.sidecar import workload
from rebalance_agent.runtime.sinks.pending_events import HELD_BYTES_MAX, HELD_MAX, PendingEvents
from support.memory import traced_memory
from support.observer.fakes import Calls

POD = Workload(pod="orders-1", node="n1")


def _event(sequence=0, **fields):
    return MemberEvent("id", "g", 2, Callback.REVOKED, "c", "m", 3, 1, {}, "process", sequence, **fields)


def test_events_wait_for_the_cluster_and_then_keep_their_order():
    relay, published = PendingEvents(POD, Calls().dropped), []
    relay.put([_event(0), _event(1)])
    relay.connect("cluster", lambda event, cluster: published.append((event, cluster)))
    relay.put([_event(2)])
    assert [event.sequence for event, _ in published] == [0, 1, 2]
    assert {cluster for _, cluster in published} == {"cluster"}


def test_cluster_and_place_are_added_to_events_without_them():
    relay, published = PendingEvents(POD, Calls().dropped), []
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    elsewhere = Workload(pod="other")
    relay.put([_event(), _event(cluster_id="theirs", where=elsewhere)])
    assert [(event.cluster_id, event.where) for event in published] == [("cluster", POD), ("theirs", elsewhere)]


def test_cluster_and_place_are_added_to_what_a_gateway_did_about_seats():
    relay, published = PendingEvents(POD, Calls().dropped), []
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    relay.put([SeatEvent("id", "g", 2, Act.KEEP, ActOutcome.DONE, "m", "process", 1)])
    assert [(event.cluster_id, event.where) for event in published] == [("cluster", POD)]


def test_cluster_and_place_are_added_to_the_deliveries_that_a_gateway_counts():
    relay, published = PendingEvents(POD, Calls().dropped), []
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    relay.put([DeliveriesEvent("id", "g", 2, ShareDeliveries(1, 2, 0, 2, 0, 0, 0), "process", 1)])
    assert [(event.cluster_id, event.where) for event in published] == [("cluster", POD)]


def test_events_may_be_sent_without_a_cluster_id_until_it_is_known():
    relay, published = PendingEvents(POD, Calls().dropped), []
    for cluster in ("", "cluster", ""):
        relay.put([_event()])
        relay.connect(cluster, lambda event, _cluster: published.append(event.cluster_id))
    assert published == ["", "", "cluster"]


def test_without_a_known_place_events_have_none():
    relay, published = PendingEvents(Workload(), Calls().dropped), []
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    relay.put([_event()])
    assert published[0].where is None


@pytest.mark.no_cover  # many times over what others count
def test_pending_events_are_bounded_and_the_oldest_is_dropped_and_counted():
    reports, published = Calls(), []
    relay = PendingEvents(POD, reports.dropped)
    relay.put(_event(number) for number in range(HELD_MAX + 3))
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    assert len(reports.of("dropped")) == 3
    assert [event.sequence for event in published] == list(range(3, HELD_MAX + 3))


def test_pending_events_are_bounded_in_bytes():
    reports, published = Calls(), []
    relay = PendingEvents(POD, reports.dropped)
    large = 60_000
    relay.put(_event(number, error="x" * large) for number in range(HELD_BYTES_MAX // large + 5))
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    assert 5 <= len(reports.of("dropped")) <= 10
    assert len(published) + len(reports.of("dropped")) == HELD_BYTES_MAX // large + 5


@pytest.mark.no_cover  # many times over what others count
def test_pending_events_of_many_partitions_take_little_memory():
    relay, events = PendingEvents(POD, Calls().dropped), [_event(number) for number in range(20)]
    with traced_memory() as used:
        relay.put(dataclasses.replace(event, partitions={"t": tuple(range(50_000))}) for event in events)
        assert used()[0] < 1_000_000


def test_pending_events_at_the_end_are_counted_and_reported():
    reports = Calls()
    relay = PendingEvents(POD, reports.dropped)
    relay.put([_event(0), _event(1)])
    with capture_logs() as logs:
        relay.close()
    assert reports.of("dropped") == [(2,)]
    assert [(log["event"], log["events"]) for log in logs] == [("events_lost_at_stop", 2)]


def test_an_event_after_the_end_is_counted():
    reports, published = Calls(), []
    relay = PendingEvents(POD, reports.dropped)
    relay.connect("cluster", lambda event, _cluster: published.append(event))
    with capture_logs() as logs:
        relay.close()
    relay.put([_event(0), _event(1)])
    assert (published, logs) == ([], [])
    assert sum(number for (number,) in reports.of("dropped")) == 2


def test_the_place_comes_from_the_downward_api_and_is_bounded():
    environment = {"POD_NAME": "p", "NODE_NAME": "", "IMAGE": "i" * 5_000, "OTHER": "x"}
    assert workload(environment) == Workload("p", None, None, "i" * WHERE_MAX)
