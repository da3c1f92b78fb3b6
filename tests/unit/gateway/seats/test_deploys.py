"""Deploys, crashes and starts of whole groups in the model: the number of rebalances with and without seats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.gateway.seats import SeatMode
from support.seats.gateway import CHEAP, DEAR
from support.seats.world import SETTINGS, World


def running(members=4, mode=SeatMode.ON, **settings):
    """A stable group of members behind two gateways."""
    world = World(mode, replace(SETTINGS, **settings))
    clients = [world.start(number % 2) for number in range(members)]
    world.advance(20.0)
    world.check_recovered()
    return world, clients


def rebalances(world, do):
    before = world.coordinator.rebalances
    do()
    world.advance(20.0)
    world.check_recovered()
    return world.coordinator.rebalances - before


@pytest.mark.parametrize(("mode", "expected"), [(SeatMode.ON, 0), (SeatMode.OFF, 8)])
def test_rebalances_of_a_rolling_deploy_with_surge_are_counted(mode, expected):
    world, clients = running(mode=mode)
    world.forecast = DEAR

    def deploy():
        for number, client in enumerate(clients):
            world.start((number + 1) % 2)  # the successor is behind the other gateway
            world.advance(3.0)
            world.stop(client)
            world.advance(6.0)

    assert rebalances(world, deploy) == expected


@pytest.mark.parametrize(("forecast", "expected"), [(CHEAP, 0), (DEAR, 8)])
def test_a_rolling_restart_without_surge_spares_rebalances_only_if_that_is_cheaper(forecast, expected):
    world, clients = running()
    world.forecast = forecast

    def restart():
        for number, client in enumerate(clients):
            world.stop(client)
            world.advance(3.0)
            world.start(number % 2)
            world.advance(9.0)

    assert rebalances(world, restart) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(1.0, 0), (8.0, 2)])
def test_rebalances_of_a_process_that_crashes_and_returns_are_counted(seconds, expected):
    world, clients = running()

    def crash():
        world.crash(clients[0])
        world.advance(seconds)
        world.start(0)

    assert rebalances(world, crash) == expected


def test_a_process_that_crashes_and_does_not_return_is_replaced_after_the_crash_window():
    world, clients = running()
    world.crash(clients[0])
    world.advance(SETTINGS.crash_window_seconds + 3.0)
    world.check_recovered()  # its session is longer


def test_newcomers_behind_both_gateways_join_in_one_rebalance():
    world, _ = running(admission_seconds=10.0, hold_seconds=4.0)
    world.advance(10.0 - world.now % 10.0 + 1.0)

    def start():
        for number in range(4):
            world.start(number % 2)
            world.advance(1.0)

    assert rebalances(world, start) == 1


def test_a_successor_with_another_subscription_gets_its_own_assignment():
    world, clients = running(2)
    world.start(1, which=1)
    world.advance(3.0)
    world.stop(clients[0])
    world.advance(20.0)
    world.check_recovered()
    asked = [client.profile for client in world.clients]
    assert sorted(map(id, asked)) == sorted(id(one.profile) for one in world.coordinator.members.values())


def test_off_forwards_every_frame_unchanged():
    world, clients = running(mode=SeatMode.OFF)
    world.crash(clients[0])
    world.stop(clients[1])
    world.start(0)
    world.advance(30.0)
    assert [gateway.changed_frames for gateway in world.gateways] == [0, 0]
    assert all(member.instance_id is None for member in world.coordinator.members.values())


def test_on_changes_one_frame_per_member():
    world, _ = running()
    world.advance(30.0)
    assert sum(gateway.changed_frames for gateway in world.gateways) == 4
