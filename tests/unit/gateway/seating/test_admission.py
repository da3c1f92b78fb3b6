"""Newcomers that find no seat join together, at multiples of the admission period: frame by frame, and in all modes."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.gateway.explain_rules import explain
from rebalance_agent.gateway.group_rules import parse_rules
from rebalance_agent.gateway.seat_rules import parse_seat_rules
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.rules.wait_times import held_seconds_max, join_wait
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.seats.frame_steps import REBALANCING, beside, ended, member, rebalanced, run, waiting

PERIOD = 10.0
RULE = "orders={},seats.hold.seconds=0"


@run
async def test_newcomers_of_a_group_with_seats_cause_one_rebalance():
    gateway = SeatGateway(RULE.format("on"), admission_seconds=PERIOD)
    old, newcomers = await beside(gateway, 4)
    before = old.generation
    await gateway.advance(0.75)
    assert await old.heartbeat() == 0
    assert gateway.acts.held == 4
    await gateway.advance(0.25)
    assert await rebalanced(old, newcomers) == {before + 1}
    assert (gateway.acts.done("admit"), gateway.acts.done("seat"), gateway.acts.done("handover")) == (4, 5, 0)
    assert gateway.acts.held == 0


@run
async def test_without_a_period_each_newcomer_causes_its_own():
    gateway = SeatGateway(RULE.format("on"))
    old = await member(gateway)
    before = old.generation
    for number in (1, 2):
        one = SeatClient(gateway, f"new-{number}")
        task = asyncio.create_task(one.enter())
        await settle()
        assert await old.heartbeat() == REBALANCING
        await asyncio.gather(old.enter(), task)
        await one.leave()
        assert await old.heartbeat() == REBALANCING
        await old.enter()
    assert old.generation == before + 4
    assert gateway.acts.done("admit") == 0


@run
async def test_a_client_that_closes_its_connection_is_forgotten_and_the_others_join():
    gateway = SeatGateway(RULE.format("on"), admission_seconds=PERIOD)
    old, newcomers = await beside(gateway, 3)
    (gone, task), *rest = newcomers
    await ended(gone)
    await gateway.advance(1)
    with pytest.raises(ConnectionError):
        await task
    assert gateway.acts.held == 2
    await gateway.advance(1)
    await rebalanced(old, rest)
    assert len(gateway.coordinator.model.members) == 3


@run
async def test_a_client_that_does_not_wait_until_the_next_multiple_joins_at_once():
    gateway = SeatGateway(RULE.format("on"), admission_seconds=60.0)
    old = await member(gateway)
    impatient = SeatClient(gateway, "impatient")
    task = asyncio.create_task(impatient.enter(rebalance_timeout_ms=10_000))
    await settle()
    await rebalanced(old, [(impatient, task)])
    assert gateway.acts.done("admit") == 0


@run
async def test_a_member_that_lost_its_membership_is_not_held():
    gateway = SeatGateway(RULE.format("on"), admission_seconds=PERIOD)
    old, newcomers = await beside(gateway, 1)
    await gateway.advance(PERIOD)
    await rebalanced(old, newcomers)
    ((lost, _),) = newcomers
    await gateway.advance(1)
    gateway.coordinator.model.leave(gateway.clock.monotonic(), lost.member_id, None)
    lost.member_id = ""
    task = asyncio.create_task(lost.enter())
    await settle()
    await rebalanced(old, [(lost, task)])


@run
async def test_observing_forwards_each_frame_and_counts_who_would_have_waited():
    gateway = SeatGateway(RULE.format("observe"), admission_seconds=PERIOD)
    old = await member(gateway)
    clients = [SeatClient(gateway, f"new-{number}") for number in (1, 2)]
    newcomers = [(one, asyncio.create_task(one.enter())) for one in clients]
    await settle()
    await rebalanced(old, newcomers)
    assert all(came == passed for one in clients for came, passed in one.sent)
    await gateway.advance(PERIOD)
    assert gateway.acts.counted["admit", "predicted"] == 2
    assert {outcome for _, outcome in gateway.acts.counted} == {"predicted"}


@run
async def test_the_switch_forwards_all_that_wait_for_the_next_multiple(tmp_path):
    switch = tmp_path / "switch"
    gateway = SeatGateway(RULE.format("on"), admission_seconds=PERIOD, switch_file=str(switch))
    old = await member(gateway)
    await gateway.advance(PERIOD - 4)
    newcomers = [await waiting(gateway, f"new-{number}") for number in (1, 2)]
    switch.write_text("off")
    await gateway.advance(5)
    await rebalanced(old, newcomers)
    assert (gateway.acts.done("pass_join"), gateway.acts.done("admit")) == (2, 0)


@pytest.mark.parametrize(
    ("hold", "patience", "joint", "at", "deadline"),
    [
        (0.0, 150.0, True, 17.0, 20.0),
        (60.0, 150.0, True, 67.0, 70.0),  # 57 s for a predecessor and the lock
        (60.0, 69.0, False, 57.0, 60.0),
        (60.0, 12.0, False, 9.0, 12.0),
        (0.0, 19.0, False, 0.0, 3.0),
        (0.0, -1.0, False, 0.0, 0.0),
    ],
)
def test_the_time_at_which_a_newcomer_is_admitted(hold, patience, joint, at, deadline):
    settings = SeatSettings(hold_seconds=hold, admission_seconds=25.0, answer_seconds=3.0)
    wait = join_wait(settings, patience, 100.0, 1_008.0)
    assert (wait.admission.joint, wait.admission.at - 100.0, wait.deadline - 100.0) == (joint, at, deadline)
    assert wait.deadline - 100.0 <= max(0.0, held_seconds_max(settings, patience))


def test_the_period_is_a_bounded_setting_and_explained():
    assert GatewaySettings().gateway_admission_seconds == 0.0
    for wrong in (-1, 61, "soon"):
        with pytest.raises(ValueError, match="gateway_admission_seconds"):
            GatewaySettings(gateway_admission_seconds=wrong)
    rules = parse_rules(""), "orders", None, "", parse_seat_rules("orders=on")
    assert "gateway_admission_seconds (25 s)" in " ".join(explain(*rules, admission_seconds=25.0).split())
    assert "gateway_admission_seconds" not in explain(*rules)
