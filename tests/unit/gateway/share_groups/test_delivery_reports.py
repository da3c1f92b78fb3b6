"""A gateway publishes the sums of its share groups: at most one event a minute for each group, and one at its end."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.share_groups import delivery_reports
from rebalance_agent.gateway.share_groups.delivery_reports import PUBLISH_SECONDS, DeliveryReports
from rebalance_agent.gateway.share_groups.share_counters import SHARE_GROUPS_MAX, ShareCounters
from rebalance_agent.groupprotocol.requests.share_requests import AcknowledgeType
from rebalance_agent.model.reported.deliveries_event import DELIVERED_MAX, ShareDeliveries


class Reports:
    """The events of a gateway that starts now."""

    def __init__(self):
        self.counts, self.clock, self.events = ShareCounters(), FakeClock(), []
        self.since_ms = self.clock.now_ms()
        self.reports = DeliveryReports(self.counts, self.clock, self.events.append)

    def published(self, after_s=0.0, **options):
        self.clock.advance(round(after_s * 1000))
        before = len(self.events)
        self.reports.publish(**options)
        return self.events[before:]


def test_an_event_has_the_sums_since_the_gateways_start():
    one = Reports()
    assert one.published() == []
    one.counts.acquired("g", {1: 10, 2: 3, 5: 1})
    every = {kind: 2 + kind for kind in AcknowledgeType}
    one.counts.acknowledged("g", every)
    (event,) = one.published(9)
    assert event.deliveries == ShareDeliveries(
        since_ms=one.since_ms, acquired=14, redelivered=4, accepted=3, released=4, rejected=5, renewed=6
    )
    assert (event.group, event.timestamp_ms, event.sequence) == ("g", one.since_ms + 9_000, 1)


def test_there_is_one_event_a_minute_and_none_without_another_record():
    one = Reports()
    one.counts.acquired("g", {1: 10})
    (first,) = one.published()
    one.counts.acquired("g", {1: 1})
    assert one.published(PUBLISH_SECONDS - 1) == []
    (second,) = one.published(1)
    assert (first.deliveries.acquired, second.deliveries.acquired) == (10, 11)
    assert first.process == second.process
    assert first.event_id != second.event_id
    assert one.published(10 * PUBLISH_SECONDS) == []


def test_the_last_records_are_published_when_the_gateway_ends():
    one = Reports()
    one.counts.acquired("g", {1: 10})
    one.published()
    one.counts.acknowledged("g", {AcknowledgeType.REJECT: 1})
    (event,) = one.published(1, last=True)
    assert event.deliveries.rejected == 1
    assert one.published(last=True) == []


def test_groups_without_series_have_no_events_and_a_huge_number_is_bounded():
    one = Reports()
    for number in range(SHARE_GROUPS_MAX + 5):
        one.counts.acquired(f"g{number}", {1: 2**60})
    events = one.published()
    assert [event.group for event in events] == [f"g{number}" for number in range(SHARE_GROUPS_MAX)]
    assert {event.deliveries.acquired for event in events} == {DELIVERED_MAX}


def test_sums_are_published_while_the_gateway_runs(monkeypatch):
    monkeypatch.setattr(delivery_reports, "CHECK_SECONDS", 0.001)
    one = Reports()
    one.counts.acquired("g", {1: 1})

    async def until_published():
        published = asyncio.Event()
        reports = DeliveryReports(one.counts, one.clock, lambda _event: published.set())
        running = asyncio.create_task(reports.run())
        await published.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(until_published(), 10))
