"""Seats in groups of KIP-848, as `test_seats_machine`; and that the invariants can fail there."""

from __future__ import annotations

import pytest
from hypothesis import settings

from properties.gateway.test_seats_can_fail import BROKEN, play
from properties.gateway.test_seats_machine import Seats
from properties.gateway.test_shared_seats_machine import CHEAP, DEAR, SHARED, SharedSeats, roll
from support.epoch_seats.epoch_coordinator import EpochCoordinator
from support.epoch_seats.epoch_world import EpochSharingGateway, EpochWorld
from support.examples import examples


class EpochSeats(Seats):
    WORLD = EpochWorld
    END_SECONDS = 60.0  # the coordinator's session is longer than in the classic model


TestEpochSeats = EpochSeats.TestCase
TestEpochSeats.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


class Blind(EpochSharingGateway):
    """A gateway without locks."""

    sees_others = False


class SharedEpochSeats(SharedSeats):
    WORLD = EpochWorld
    END_SECONDS = 60.0
    SHARES, BLIND = EpochSharingGateway, Blind


TestSharedEpochSeats = SharedEpochSeats.TestCase
TestSharedEpochSeats.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


@pytest.mark.parametrize(("surge", "forecast"), [(True, DEAR), (False, CHEAP)])
@pytest.mark.parametrize("kind", [EpochSharingGateway, Blind])
def test_successors_behind_the_other_gateway_take_the_seats_where_gateways_know_each_other(surge, forecast, kind):
    world = EpochWorld(settings=SHARED, kind=kind)
    world.forecast = forecast
    clients = [world.start(number % 2) for number in range(4)]
    world.advance(20.0)
    before = world.coordinator.epoch
    if kind is EpochSharingGateway:
        roll(world, clients, surge=surge)
        assert world.coordinator.epoch == before
    else:
        world.start(1)
        world.stop(clients[0])
        world.advance(20.0)
        assert world.coordinator.epoch > before


def unfenced(monkeypatch):
    """A member that was replaced may commit."""
    monkeypatch.setattr(EpochCoordinator, "fences", False)


@pytest.mark.parametrize(
    ("broken", "check", "noticed"),
    [(unfenced, "check_owners", "two clients can commit"), *BROKEN],
)
def test_a_broken_rule_is_detected(broken, check, noticed, monkeypatch):
    broken(monkeypatch)
    with pytest.raises(AssertionError, match=noticed):
        play((check,), machine=EpochSeats)
