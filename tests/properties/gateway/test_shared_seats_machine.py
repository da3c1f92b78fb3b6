"""Seats of two gateways that share a helper group: the invariants without it also hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, multiple

from properties.gateway.test_seats_machine import Seats
from support.examples import examples
from support.seats.sharing_gateway import SharingGateway
from support.seats.world import FORECASTS, SETTINGS, TICK, World

CHEAP, DEAR = FORECASTS
SHARED = replace(SETTINGS, hold_seconds=12.0, roster_seconds=0.5)


class Blind(SharingGateway):
    """A gateway without locks: it and the others do not know each other."""

    sees_others = False


def shared(kind=SharingGateway, members=4, forecast=DEAR, **limits):
    """A stable group, whose members are behind both gateways in turn."""
    world = World(settings=replace(SHARED, **limits), kind=kind)
    world.forecast = forecast
    clients = [world.start(number % 2) for number in range(members)]
    world.advance(20.0)
    return world, clients


def roll(world, clients, *, surge):
    """Replace each client by one behind the other gateway."""
    for client in tuple(clients):
        other = 1 - client.gateway.number
        if surge:
            clients.append(world.start(other))
            world.advance(3.0)
            world.stop(client)
        else:
            world.stop(client)
            world.advance(1.0)
            clients.append(world.start(other))
        clients.remove(client)
        world.advance(4.0)
        world.check_recovered()


@pytest.mark.parametrize(("surge", "forecast"), [(True, DEAR), (False, CHEAP)])
def test_successors_behind_the_other_gateway_take_the_seats_and_the_group_does_not_rebalance(surge, forecast):
    world, clients = shared(forecast=forecast)
    before = world.coordinator.rebalances
    roll(world, clients, surge=surge)
    roll(world, clients, surge=surge)
    assert world.coordinator.rebalances == before


@pytest.mark.parametrize(("surge", "forecast"), [(True, DEAR), (False, CHEAP)])
def test_gateways_without_shared_locks_rebalance_as_without_seats(surge, forecast):
    world, clients = shared(Blind, forecast=forecast)
    before = world.coordinator.rebalances
    for client in tuple(clients):
        other = 1 - client.gateway.number
        if surge:
            world.start(other)
        world.stop(client)
        if not surge:
            world.start(other)
        world.advance(20.0)
        world.check_recovered()
    assert world.coordinator.rebalances > before


def test_a_seat_kept_for_a_newcomer_of_a_dead_gateway_is_given_up_soon():
    world, clients = shared()
    world.start(1)
    world.advance(3.0)
    world.gateways[1].paused = True
    world.stop(clients[0])
    world.advance(3.0)
    assert clients[0].member_id in world.coordinator.members  # it was kept for the newcomer
    world.advance(4.0)
    assert clients[0].member_id not in world.coordinator.members


def test_a_newcomer_takes_no_seat_of_a_living_member_although_its_lock_is_released():
    """The first seat was handed over, and its released lock is still described."""
    world, clients = shared(members=2)
    roll(world, clients, surge=True)
    before = {client.member_id for client in clients}
    newcomers = [world.start(number) for number in (0, 1)]
    world.advance(8.0)
    assert [one.member_id for one in newcomers] == ["", ""]
    assert {client.member_id for client in clients} == before


def test_a_newcomer_does_not_take_a_seat_of_its_own_gateway_just_taken_by_another_one():
    """Its gateway learns this at its next heartbeat for the vacant seat."""
    world, (first, second) = shared(members=2, keeper_seconds=3.0)
    before = world.coordinator.rebalances
    taker = world.start(1)
    world.advance(2.0)
    world.stop(first)
    while not taker.member_id:
        world.advance(TICK)
    members = {taker.member_id, second.member_id}
    newcomer = world.start(0)
    world.advance(4.0)
    assert (newcomer.member_id, world.coordinator.rebalances) == ("", before)
    assert set(world.coordinator.members) == members


class SharedSeats(Seats):
    """Two gateways with locks, or one with and one without."""

    SHARES, BLIND = SharingGateway, Blind

    @initialize(
        target=Seats.clients,
        members=st.integers(0, 4),
        admission=st.sampled_from([0.0, 5.0]),
        second=st.booleans(),
    )
    def begin(self, members, admission, second):
        """A stable group, whose members are behind both gateways in turn."""

        def kind(number, world):
            return (self.SHARES, self.SHARES if second else self.BLIND)[number](number, world)

        self.world = self.WORLD(settings=replace(SETTINGS, admission_seconds=admission), checks=self.CHECKS, kind=kind)
        for number in range(members):
            self.world.start(number % 2)
        self.world.advance(10.0)
        return multiple(*self.world.clients)


TestSharedSeats = SharedSeats.TestCase
TestSharedSeats.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
