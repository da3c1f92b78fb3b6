"""Synthetic histories have the properties of real ones, and are reproducible."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import pytest

from rebalance_agent.advice.replay.fidelity import fidelity
from rebalance_agent.advice.replay.implementations import instrumented_generations
from rebalance_agent.advice.replay.recorded_history import history_of
from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.events import AbortedEvent, AssignEvent, GenerationEvent, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.partitions import pairs
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan, plan_group
from rebalance_agent.testing.synthetic.synthetic_history import history
from rebalance_agent.testing.synthetic.target_assignments import by_range, shared, uniform

FLEET = FleetPlan(groups=30, days=1, seed=3)


@functools.cache
def events_of(number):
    return tuple(history(FLEET, number))


def generations_of(number):
    return [each for each in events_of(number) if isinstance(each, GenerationEvent)]


def everything():
    return [each for number in range(FLEET.groups) for each in events_of(number)]


def test_the_same_fleet_size_and_seed_give_the_same_events():
    for number in (0, 5, 11):
        assert tuple(history(FLEET, number)) == events_of(number)


@pytest.mark.no_cover  # other tests cover the same lines
def test_the_events_equal_those_of_an_observer():
    events = everything()
    kinds = Counter(type(each).KIND for each in events)
    assert kinds["generation"] > 300
    assert kinds["member"] > 100
    assert kinds["rollout"] > 2  # except deploys of groups without evidence of them
    assert kinds["assign"] > 50
    assert {each.cluster_id for each in events} == {FLEET.cluster_id}
    ids = Counter((each.event_id, each.revision) for each in events)
    assert max(ids.values()) == 1
    for each in events:
        if isinstance(each, GenerationEvent) and each.trigger is not Trigger.MEMBER_REPLACED:
            assert each.event_id == event_id(
                "generation", each.cluster_id, each.group, each.group_type, each.generation, each.timestamp_ms
            )


def test_the_history_has_every_type_of_group_and_many_triggers():
    closing = [each for each in everything() if isinstance(each, GenerationEvent) and each.closes_episode]
    assert {each.group_type for each in closing} == set(GroupType)
    assert {each.trigger for each in closing} >= {
        Trigger.GROUP_STARTED,
        Trigger.MEMBER_JOINED,
        Trigger.MEMBER_GONE,
        Trigger.MEMBER_LEFT,
    }
    assert {each.stall.basis for each in closing if each.stall} == {Basis.EXACT, Basis.BOUND}
    known = [each for each in closing if each.members and each.stall]
    assert len(known) > 0.95 * sum(bool(each.members) for each in closing)
    assert any(each.slowest_member_id for each in closing)
    assert any(each.flapping for each in closing)
    assert any(each.members and each.members[0].where for each in closing)


def test_generations_are_consecutive_except_for_aborted_ones():
    for number in range(FLEET.groups):
        aborted = {each.generation for each in events_of(number) if isinstance(each, AbortedEvent)}
        mine = {each.event_id: each for each in generations_of(number)}.values()
        for one, two in itertools.pairwise(mine):
            assert one.timestamp_ms <= two.timestamp_ms
            if one.group_type is GroupType.CLASSIC:
                missing = set(range(one.generation + 1, two.generation))
                assert missing <= aborted


def test_every_partition_has_one_owner():
    for each in everything():
        if isinstance(each, GenerationEvent) and each.members and each.group_type is not GroupType.SHARE:
            given = [pair for member in each.members for pair in pairs(member.assigned)]
            assert len(given) == len(set(given))
            if each.closes_episode:
                assert len(given) + each.unassigned == sum(each.topics.values())


def test_assignments_equal_the_strategys():
    checked = Counter()
    for number in range(FLEET.groups):
        events = events_of(number)
        leaders = instrumented_generations([each for each in events if isinstance(each, AssignEvent)])
        for line in fidelity(history_of(events), leaders).lines:
            assert line.same_assignment == line.checked, line.difference
            checked[line.assignor] += line.checked
    assert checked["range"] > 20
    assert sum(number > 0 for number in checked.values()) >= 3


def test_members_with_sidecars_report_their_callbacks():
    reported = [each for each in everything() if isinstance(each, MemberEvent)]
    assert {each.callback.value for each in reported} == {"assigned", "revoked", "left"}
    reporting = {each.group for each in reported}
    assert reporting == {
        plan.name
        for number in range(FLEET.groups)
        if (plan := plan_group(FLEET, number)).reports and generations_of(number)
    }
    for each in reported:
        assert each.started_ms <= each.timestamp_ms
        assert each.where
        assert each.where.image


@pytest.mark.parametrize("members", [1, 2, 3, 5, 9])
def test_the_brokers_assignors_balance_partitions(members):
    partitions = [("t", number) for number in range(7)]
    names = [f"m{number}" for number in range(members)]
    for made in (uniform(partitions, names, {}), by_range({"t": 7}, names)):
        assert sorted(each for mine in made.values() for each in mine) == partitions
        sizes = [len(made[name]) for name in names]
        assert max(sizes) - min(sizes) <= 1
    both = shared(partitions, names)
    assert set().union(*both.values()) == set(partitions)
    assert all(both.values())


def test_the_brokers_uniform_assignor_moves_as_few_partitions_as_possible():
    partitions = [("t", number) for number in range(8)]
    before = uniform(partitions, ["a", "b"], {})
    after = uniform(partitions, ["a", "b", "c"], before)
    assert sum(len(before[name] - after[name]) for name in before) == 2
    assert uniform(partitions, ["a", "b"], before) == before
    assert uniform(partitions, [], before) == {}
