"""A gateway checks whether newcomers that it admitted together caused one rebalance, and counts what that spared."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.seating.act_report import ActReport
from rebalance_agent.gateway.seating.acts.act_events import ActEvents
from rebalance_agent.gateway.seating.acts.act_outcomes import ActOutcomes
from rebalance_agent.gateway.seats.outcomes.act_trust import WRONG_MAX, ActCheck
from rebalance_agent.gateway.seats.outcomes.handover_checks import SETTLED_SECONDS
from rebalance_agent.gateway.seats.outcomes.joint_admissions import CLOSED_SECONDS, REJOIN_SECONDS, JointAdmissions
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_HEARTBEAT_SECONDS, Admission
from rebalance_agent.model.event_json import event_from_json, event_to_json
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import Act
from support.gateway.acts import RecordedActs
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.seats.frame_steps import beside, member, rebalanced, run

AT, PERIOD = 100.0, 10.0
RULE = "orders={},seats.hold.seconds=0"


def admitted(*alone_at, group_type=GroupType.CLASSIC):
    """Newcomers whose JoinGroups are sent at one multiple; each would have joined at its time."""
    admissions = JointAdmissions(group_type)
    for join, alone in enumerate(alone_at):
        admissions.sent(join, Admission(AT, 7, alone), AT)
    return admissions


def checks(admissions, now=AT + 60):
    return [result.check for result in admissions.known(now)]


def test_newcomers_in_one_generation_were_right_and_spared_a_rebalance_for_each_that_came_after_the_one_before():
    lasted = 4.0
    admissions = admitted(90.0, 90.5, 90.5 + lasted, 90.5 + 2 * lasted + 0.1)
    assert admissions.together(7) == 4
    for join in range(4):
        assert checks(admissions) == []
        admissions.joined(join, f"m{join}", 5, AT + lasted)
    assert admissions.next_due() == AT + CLOSED_SECONDS
    assert checks(admissions, AT + CLOSED_SECONDS - 0.1) == []
    (result,) = admissions.known(AT + CLOSED_SECONDS)
    assert (result.check, result.spared) == (ActCheck.RIGHT, {"m0": 0, "m1": 0, "m2": 0, "m3": 1})
    assert (admissions.next_due(), admissions.together(7)) == (None, 0)


@pytest.mark.parametrize(("apart", "spared"), [(REJOIN_SECONDS, 0), (REJOIN_SECONDS + 0.1, 1)])
def test_a_quick_rebalance_counts_as_long_as_members_need_to_notice_it(apart, spared):
    admissions = admitted(90.0, 90.0 + apart)
    for join in range(2):
        admissions.joined(join, f"m{join}", 5, AT)
    assert sum(admissions.known(AT + 60)[0].spared.values()) == spared


def test_newcomers_in_several_generations_were_wrong_and_spared_nothing():
    admissions = admitted(80.0, 90.0)
    admissions.joined(0, "m0", 5, AT)
    admissions.joined(1, "m1", 6, AT + 1)
    (result,) = admissions.known(AT + 60)
    assert (result.check, result.spared) == (ActCheck.WRONG, {"m0": 0, "m1": 0})


def test_one_newcomer_says_nothing_and_one_that_did_not_join_is_left_out():
    admissions = admitted(80.0, 90.0)
    admissions.joined(0, "m0", 5, AT)
    assert checks(admissions) == [], "the other one is not answered"
    admissions.withdrawn(1)
    assert checks(admissions) == [ActCheck.UNKNOWN]
    admissions = admitted(80.0)
    admissions.withdrawn(0)
    assert (checks(admissions), admissions.next_due()) == ([], None)


def test_newcomers_of_different_multiples_are_not_compared():
    admissions = admitted(80.0, 90.0)
    admissions.sent(2, Admission(AT + 10, 8, 91.0), AT + 10)
    for join, generation in ((0, 5), (1, 5), (2, 6)):
        admissions.joined(join, f"m{join}", generation, AT + 10)
    assert checks(admissions) == [ActCheck.RIGHT, ActCheck.UNKNOWN]


@pytest.mark.parametrize(
    ("apart", "check"), [(EPOCH_HEARTBEAT_SECONDS, ActCheck.RIGHT), (EPOCH_HEARTBEAT_SECONDS + 0.1, ActCheck.WRONG)]
)
def test_newcomers_of_kip_848_were_right_if_members_learn_of_all_at_one_heartbeat_and_spare_no_epoch(apart, check):
    admissions = admitted(80.0, 90.0, group_type=GroupType.CONSUMER)
    admissions.joined(0, "m0", 5, AT)
    admissions.joined(1, "m1", 6, AT + apart)
    (result,) = admissions.known(AT + 60)
    assert (result.check, set(result.spared.values())) == (check, {0})


# -- frame by frame --------------------------------------------------------------------------------------------


def outcomes(gateway):
    return [gateway.acts.counted["admit", each] for each in ("right", "wrong", "unknown")]


@run
async def test_an_admission_is_an_event_with_its_prediction_and_outcome_and_counts_what_it_spared_and_cost():
    gateway = SeatGateway(RULE.format("on"), admission_seconds=PERIOD)
    await rebalanced(*await beside(gateway, 2, apart=4.0))
    done = [event for event in gateway.events if event.act is Act.ADMIT]
    assert [(event.outcome, event.together, event.rebalances_spared) for event in done] == [("done", 2, None)] * 2
    assert sorted(event.held_seconds for event in done) == [1.0, 5.0]
    assert gateway.acts.waited_seconds == {"on": 6.0}
    await gateway.advance(CLOSED_SECONDS)
    known = [event for event in gateway.events if event.act is Act.ADMIT and event.revision == 1]
    assert [event.outcome for event in known] == ["right", "right"]
    assert sorted(event.rebalances_spared for event in known) == [0, 1]
    assert {event.event_id for event in known} == {event.event_id for event in done}
    assert all(event_from_json(event_to_json(event)) == event and event.occupant is None for event in known)
    assert (outcomes(gateway), gateway.acts.rebalances_spared) == ([2, 0, 0], {"on": 1})


def test_a_group_whose_joint_admissions_are_wrong_is_stopped_whatever_its_handovers_are():
    acts, clock, stopped = RecordedActs(), FakeClock(), []
    report = ActReport(acts, clock, ActEvents(lambda _event, _left_out: None, clock, "gateway"))
    group = ActOutcomes("orders", GroupType.CLASSIC, None, report, lambda: stopped.append(True))
    for number in range(1, WRONG_MAX + 1):
        assert (group.wrong, stopped) == (False, [])
        admission, now = Admission(number * AT, number, number * AT - 5), number * AT
        for join in range(2):
            group.admitted(join, admission, now)
        for join in range(2):
            facts = {"member_id": f"m{join}", "generation": 2 * number + join}
            group.joined(join, admission, 0, now, 5.0, facts)
        assert group.next_due() == now + CLOSED_SECONDS
        group.due(now + CLOSED_SECONDS)
        assert acts.counted["admit", "wrong"] == 2 * number
        group.handed_over("h", 7, 7, now)
        group.answered("h", 0, now + SETTLED_SECONDS)
    assert (group.wrong, stopped) == (True, [True])
    assert acts.rebalances_spared == {"on": WRONG_MAX}, "by handovers"


def test_a_newcomer_that_is_refused_is_no_part_of_the_outcome():
    acts, clock = RecordedActs(), FakeClock()
    report = ActReport(acts, clock, ActEvents(lambda _event, _left_out: None, clock, "gateway"))
    group = ActOutcomes("orders", GroupType.CLASSIC, None, report, list)
    group.admitted(1, Admission(AT, 7, AT), AT)
    group.joined(1, Admission(AT, 7, AT - 5), 81, AT, 5.0, {"member_id": "", "generation": -1})
    group.due(AT + 60)
    assert dict(acts.counted) == {("admit", "refused"): 1}
    assert (acts.waited_seconds, group.next_due()) == ({}, None)


@run
async def test_a_newcomer_whose_connection_ends_before_the_answer_does_not_keep_the_outcome_of_the_others_open():
    gateway = SeatGateway(RULE.format("on"), admission_seconds=PERIOD)
    old, newcomers = await beside(gateway, 3)
    (_, task), *rest = newcomers
    joins = gateway.coordinator._join

    async def broken_once(_request):
        gateway.coordinator._join = joins
        raise ConnectionAbortedError("closed")

    gateway.coordinator._join = broken_once
    await gateway.advance(2)
    with pytest.raises(ConnectionError):
        await task
    await rebalanced(old, rest)
    await gateway.advance(CLOSED_SECONDS)
    assert outcomes(gateway) == [2, 0, 0]


@run
async def test_observing_counts_the_rebalances_that_would_have_been_merged_and_the_wait():
    gateway = SeatGateway(RULE.format("observe"), admission_seconds=PERIOD)
    members = [await member(gateway)]
    for number in range(2):
        newcomer = SeatClient(gateway, f"new-{number}")
        entering = asyncio.create_task(newcomer.enter())
        await settle()
        await asyncio.gather(entering, *(one.enter() for one in members))
        members.append(newcomer)
        await gateway.advance(1)
    await gateway.advance(PERIOD)
    assert gateway.acts.counted["admit", "predicted"] == 2
    assert gateway.acts.rebalances_spared == {"observe": 1}
    assert gateway.acts.waited_seconds["observe"] == pytest.approx(5.0 + 4.0)
