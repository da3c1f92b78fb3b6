"""A gateway checks the results of handovers and kept seats, and stops for groups where they are wrong."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.group import HeartbeatRequest

from rebalance_agent.gateway.seats.outcomes.act_trust import WRONG_MAX, ActCheck, ActTrust
from rebalance_agent.gateway.seats.outcomes.handover_checks import HEARTBEAT_SECONDS, SETTLED_SECONDS, HandoverChecks
from rebalance_agent.model.reported.seat_event import Act
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.seats.frame_steps import ended, member, run, waiting

RIGHT, WRONG, UNKNOWN = [ActCheck.RIGHT], [ActCheck.WRONG], [ActCheck.UNKNOWN]
REBALANCING, MOVED = 27, 16
OF_THE_REQUEST = (22, 30)
"""Error codes that any client can cause for any member: ILLEGAL_GENERATION, GROUP_AUTHORIZATION_FAILED."""
KEPT = "orders=on,seats.keep.seconds=60"


def begun(before=5):
    checks = HandoverChecks()
    assert checks.begun("m", before, 5, 0.0) == []
    return checks


@pytest.mark.parametrize("before", [5, -1])
def test_a_handover_was_right_if_a_heartbeat_is_accepted_some_seconds_later(before):
    checks = begun(before)
    assert checks.answered("m", 0, SETTLED_SECONDS - 0.1) == []
    assert [checks.answered("m", error, SETTLED_SECONDS) for error in (MOVED, *OF_THE_REQUEST)] == [[], [], []]
    assert checks.answered("other", REBALANCING, SETTLED_SECONDS) == []
    assert checks.answered("m", 0, SETTLED_SECONDS) == RIGHT
    assert checks.answered("m", REBALANCING, 9.0) == [], "a later rebalance has another cause"
    assert checks.next_due() is None


@pytest.mark.parametrize("at", [0.1, 9.0])
@pytest.mark.parametrize("error", [25, REBALANCING, 82])
def test_a_handover_was_wrong_if_the_coordinator_refuses_the_members_next_request(error, at):
    assert begun().answered("m", error, at) == WRONG


def test_a_handover_was_wrong_if_the_generation_changes_or_the_member_joins_again():
    assert HandoverChecks().begun("m", 4, 5, 0.0) == WRONG
    assert begun().rejoined("m") == WRONG
    assert begun().rejoined("other") == []


def test_a_handover_is_unknown_if_the_member_leaves_or_sends_nothing():
    assert begun().left("m") == UNKNOWN
    checks = begun()
    assert checks.next_due() == HEARTBEAT_SECONDS
    assert checks.overdue(HEARTBEAT_SECONDS - 1) == []
    assert checks.overdue(HEARTBEAT_SECONDS) == ["m"]
    assert checks.left("m") == UNKNOWN


@given(st.lists(st.tuples(st.sampled_from([Act.HANDOVER, Act.ADMIT]), st.sampled_from([*ActCheck]))))
def test_a_group_is_trusted_until_too_many_consecutive_acts_of_one_kind_were_wrong(outcomes):
    trust, known, distrusted = ActTrust(), {Act.HANDOVER: "", Act.ADMIT: ""}, False
    for act, check in outcomes:
        trust.note(act, check)
        known[act] += "" if check is ActCheck.UNKNOWN else check[0]
        distrusted |= known[act].endswith("w" * WRONG_MAX)
        assert trust.trusted is not distrusted


async def handover(gateway, old):
    """A newcomer that has taken the seat of ``old``, and sent no heartbeat yet."""
    new, entering = await waiting(gateway, "next")
    assert await old.leave() == 0
    await entering
    await ended(old)
    assert new.generation == old.generation
    return new


async def wrong_handover(gateway, old):
    """The group rebalances at once."""
    new = await handover(gateway, old)
    gateway.coordinator.errors[HeartbeatRequest] = REBALANCING
    assert await new.heartbeat() == REBALANCING
    await new.enter()
    await gateway.advance(5)
    return new


def outcomes(gateway, act):
    return [gateway.acts.counted[act, each] for each in ("right", "wrong", "unknown")]


@run
async def test_handovers_are_counted_by_result():
    gateway = SeatGateway()
    one = await handover(gateway, await member(gateway))
    assert await one.heartbeat() == 0
    assert outcomes(gateway, "handover") == [0, 0, 0]
    assert gateway.acts.rebalances_spared == {}, "not yet"
    await gateway.advance(SETTLED_SECONDS)
    assert await one.heartbeat() == 0
    assert outcomes(gateway, "handover") == [1, 0, 0]
    one = await wrong_handover(gateway, one)
    assert outcomes(gateway, "handover") == [1, 1, 0]
    assert gateway.acts.rebalances_spared == {"on": 1}
    one = await handover(gateway, one)
    await gateway.advance(31)
    assert outcomes(gateway, "handover") == [1, 1, 1]
    assert gateway.acts.done("handover") == 3


@run
async def test_a_client_that_names_a_member_does_not_make_its_handover_wrong():
    gateway = SeatGateway()
    new = await handover(gateway, await member(gateway))
    liar = SeatClient(gateway, "liar")
    liar.member_id, liar.generation = new.member_id, new.generation + 7
    assert await liar.heartbeat() == OF_THE_REQUEST[0]
    gateway.coordinator.errors[HeartbeatRequest] = OF_THE_REQUEST[1]
    assert await liar.heartbeat() == OF_THE_REQUEST[1]
    assert outcomes(gateway, "handover") == [0, 0, 0]
    await gateway.advance(SETTLED_SECONDS)
    assert await new.heartbeat() == 0
    assert outcomes(gateway, "handover") == [1, 0, 0]


@run
async def test_a_kept_seat_was_right_if_a_newcomer_takes_it_and_wrong_otherwise():
    gateway = SeatGateway(KEPT)
    one = await member(gateway)
    await one.leave()
    await ended(one)
    one = await SeatClient(gateway, "next").enter()
    assert outcomes(gateway, "keep") == [1, 0, 0]
    await one.leave()
    await ended(one)
    await gateway.advance(61)
    assert outcomes(gateway, "keep") == [1, 1, 0]
    one = await member(gateway, "last")
    await one.leave()
    await ended(one)
    await gateway.seats.switch_off()
    assert outcomes(gateway, "keep") == [1, 1, 1]


@run
async def test_a_kept_seat_was_right_if_a_newcomer_behind_another_gateway_takes_it():
    first = SeatGateway(f"{KEPT},seats.between.gateways=true")
    second = SeatGateway(f"{KEPT},seats.between.gateways=true", beside=first)
    one = await SeatClient(first, "old").enter()
    await second.advance(5)
    await one.leave()
    await ended(one)
    await second.advance(1)
    new = await SeatClient(second, "new").enter()
    await second.advance(SETTLED_SECONDS)
    assert await new.heartbeat() == 0
    assert outcomes(first, "keep") == [1, 0, 0]
    assert outcomes(second, "handover") == [1, 0, 0]


@run
async def test_a_gateway_whose_handovers_are_wrong_stops_for_that_group_and_observes_it_once_it_has_no_seats():
    gateway = SeatGateway("orders=on,seats.hold.seconds=10")
    one = await member(gateway)
    for number in range(WRONG_MAX):
        assert gateway.acts.wrong == 0
        one = await wrong_handover(gateway, one)
        assert outcomes(gateway, "handover") == [0, number + 1, 0]
    assert gateway.acts.wrong == 1
    new = SeatClient(gateway, "new")
    entering = asyncio.create_task(new.enter())
    await settle()
    await one.enter()
    await entering
    assert all(frame == passed for frame, passed in new.sent), "it gets no seat"
    assert await one.heartbeat() == 0
    await one.leave()
    assert gateway.acts.done("keep") == WRONG_MAX
    await ended(one)
    await gateway.advance(5)
    await new.enter()
    await new.leave()
    await ended(new)
    await SeatClient(gateway, "last").enter()
    assert gateway.acts.counted["seat", "predicted"] == 1
