"""Each invariant of `World` fails if the code or the coordinator breaks its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from properties.gateway.test_seats_machine import Seats
from rebalance_agent.gateway.seats import group_seats, seated_joins
from rebalance_agent.gateway.seats.rules.seat_answers import JoinAnswer
from rebalance_agent.gateway.seats.rules.wait_times import Admission
from rebalance_agent.gateway.seats.seat_keeper import SeatKeeper
from support.examples import examples
from support.seats import coordinator, gateway
from support.seats.world import World


def unbounded(monkeypatch):
    """A newcomer is held without end."""
    real = group_seats.join_wait
    never = Admission(1e9)
    monkeypatch.setattr(group_seats, "join_wait", lambda *a: replace(real(*a), admission=never, deadline=1e9))


def endless(monkeypatch):
    """A vacant seat is kept without end."""
    real = SeatKeeper.vacate
    monkeypatch.setattr(SeatKeeper, "vacate", lambda self, seat, _until, now: real(self, seat, 1e9, now))


def stubborn(monkeypatch):
    """A vacant seat is kept through a rebalance, and without end."""
    endless(monkeypatch)
    monkeypatch.setattr(SeatKeeper, "rebalancing", lambda *_: [])
    monkeypatch.setattr(SeatKeeper, "kept", lambda *_: [])


def unforgiving(monkeypatch):
    """Errors of changed frames reach clients."""
    monkeypatch.setattr(seated_joins, "join_answer", lambda _error: JoinAnswer.SHOW)


def fencing(monkeypatch):
    """FENCED_INSTANCE_ID reaches clients without an instance id."""
    monkeypatch.setattr(group_seats, "shown_error", lambda error: error)


def careless(monkeypatch):
    """Every consumer may have a seat."""
    monkeypatch.setattr(group_seats, "seat_refusal", lambda *_, **__: None)


def immortal(monkeypatch):
    """The gateway's members have sessions that do not end with it."""
    real = gateway.ModelGateway._forward

    def forward(self, client, instance_id, join=None):
        client.session = 1e9 if instance_id is not None else client.session
        real(self, client, instance_id, join)

    monkeypatch.setattr(gateway.ModelGateway, "_forward", forward)


def unfenced(monkeypatch):
    """The coordinator does not give a returning member a new id (fact 9)."""
    monkeypatch.setattr(coordinator.ModelCoordinator, "fences", False)


def forgetful(monkeypatch):
    """A gateway is restarted without its list of seats."""
    monkeypatch.setattr(group_seats, "save", lambda *_: ())


def play(checks, plays=400, machine=Seats):
    """A fixed sequence of steps, without shrinking; ``checks``: names of invariants, None: all."""

    class Play(machine):
        CHECKS = checks

    fixed = settings(
        max_examples=plays,
        stateful_step_count=30,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    run_state_machine_as_test(Play, settings=fixed)


BROKEN = (
    (careless, "check_owners", "a frame that may not be changed was changed"),
    (unbounded, "check_holds", "held too long"),
    (unforgiving, "check_errors", "the error of a changed frame reached the client"),
)
"""How the gateway can break its rules in groups of both protocols, the invariant that fails, and its message."""


@pytest.mark.parametrize(
    ("broken", "check", "noticed"),
    [
        (unfenced, "check_owners", "two clients can commit"),
        *BROKEN,
        (fencing, "check_errors", "an error that no dynamic member knows"),
        (endless, "check_recovered", "not recovered"),
        (immortal, "check_recovered", "not recovered"),
    ],
)
def test_a_broken_rule_is_detected(broken, check, noticed, monkeypatch):
    broken(monkeypatch)
    with pytest.raises(AssertionError, match=noticed):
        play((check,))


def leave_and_rebalance():
    """A member's seat becomes vacant, and then the group rebalances for a client without a gateway."""
    world = World()
    leaver, _ = world.start(0), world.start(1)
    world.advance(10.0)
    world.stop(leaver)
    world.advance(1.0)
    world.start(None)
    world.advance(12.0)


def test_a_seat_kept_through_a_rebalance_is_detected(monkeypatch):
    leave_and_rebalance()
    stubborn(monkeypatch)
    with pytest.raises(AssertionError, match="others wait for a vacant member"):
        leave_and_rebalance()


def test_without_the_saved_list_of_seats_no_invariant_fails(monkeypatch):
    forgetful(monkeypatch)
    play(None, examples(40))
