"""What a client pushes about its callbacks completes the gateway's events about the same member."""

from __future__ import annotations

import asyncio

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest

from rebalance_agent.gateway.pushing_member import CallbackMaxima, PushingMember
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from support.gateway.coordinator import ToyCoordinator
from support.gateway.groups import Client, Gateway, Line

REVOKED, ASSIGNED = Callback.REVOKED, Callback.ASSIGNED
INTERVAL_MS = 15_000
NOTHING = ClientMetrics()


class Rebalancing:
    """One member behind a gateway, whose client pushes every 15 seconds."""

    def __init__(self, **options):
        self.gateway, self.broker = Gateway(), ToyCoordinator(1)
        self.client = Client(Line(self.gateway, self.broker), **options)

    def push(self, member_id=None, metrics=NOTHING, **maxima):
        self.gateway.clock.advance(INTERVAL_MS)
        name = PushingMember(self.client.group, member_id or self.client.member_id, None, "instance")
        seconds = {Callback(name): seconds for name, seconds in maxima.items()}
        self.client.line.talk.pushed(name, CallbackMaxima(seconds), metrics)

    async def rebalance(self, revoking_ms, *numbers):
        self.broker.errors[HeartbeatRequest] = 27
        await self.client.heartbeat()
        self.broker.errors.clear()
        self.gateway.clock.advance(revoking_ms)
        await self.assign(*numbers)

    async def assign(self, *numbers):
        await self.client.join()
        await self.client.sync({self.client.member_id: {"t": numbers}})

    def durations(self, callback):
        """The durations of the events that were published again."""
        events = self.gateway.reported(callback)
        assert len({event.event_id for event in events}) == len([event for event in events if not event.revision])
        return [event.callback_seconds for event in events if event.revision]


@pytest.mark.parametrize(("options", "callbacks"), [({}, [2.0]), ({"names": ("cooperative-sticky",)}, [])])
def test_the_member_of_a_push_is_found_by_its_id(options, callbacks):
    """A cooperative member keeps its partitions, and its client calls nothing before it rejoins."""
    one = Rebalancing(**options)

    async def go():
        await one.assign(0, 1)
        await one.client.heartbeat()
        for _ in range(3):
            one.push()
        await one.rebalance(2_600, 0, 1)
        await one.client.heartbeat()
        one.push(member_id="other", revoked=2.5)
        one.push(revoked=2.0)
        one.push(revoked=2.0)

    asyncio.run(go())
    assert one.durations(REVOKED) == callbacks
    assert one.durations(ASSIGNED) == []


def test_a_member_without_partitions_may_have_run_its_revoked_callback_too():
    """An eager client calls it with an empty list before it joins."""
    one = Rebalancing()

    async def go():
        await one.assign(0, 1)
        await one.client.heartbeat()
        for _ in range(3):
            one.push()
        await one.rebalance(500)  # without partitions from here on
        await one.rebalance(500, 0)
        one.push(revoked=0.4)
        one.push(revoked=0.4)

    asyncio.run(go())
    assert len(one.gateway.reported(REVOKED)) == 1
    assert one.durations(REVOKED) == []


def test_a_client_that_leaves_may_have_run_its_revoked_callback_too():
    one = Rebalancing()

    async def go():
        await one.assign(0, 1)
        await one.client.heartbeat()
        for _ in range(3):
            one.push()
        await one.rebalance(500, 0)
        one.push(revoked=0.4)
        one.broker.errors[HeartbeatRequest] = 25  # it lost its partitions, and its client runs callbacks
        await one.client.heartbeat()
        one.push(revoked=0.4)

    asyncio.run(go())
    assert one.durations(REVOKED) == []


def test_the_next_event_of_a_member_has_what_its_client_pushed_last():
    one = Rebalancing()

    async def go():
        await one.assign(0, 1)
        await one.client.heartbeat()
        one.push(metrics=ClientMetrics(idle_ratio=0.5))
        one.push(metrics=ClientMetrics(idle_ratio=0.25))
        one.push(member_id="other", metrics=ClientMetrics(idle_ratio=0.75))
        await one.rebalance(500, 0, 1)
        await one.rebalance(500, 0, 1)

    asyncio.run(go())
    events = sorted(one.gateway.reported(ASSIGNED) + one.gateway.reported(REVOKED), key=lambda event: event.sequence)
    pushed = ClientMetrics(idle_ratio=0.25)
    assert [event.client_metrics for event in events] == [None, pushed, None, None]
