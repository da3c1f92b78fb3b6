"""Synthetic fleets: the kinds of groups, and their changes on a day."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.simulation import Join, Leave, RacksChange, SimulationSettings, TopicGrows
from rebalance_agent.testing.simulation.script import check_script
from rebalance_agent.testing.synthetic.calendar_members import NODES
from rebalance_agent.testing.synthetic.fleet_plan import (
    DAYS_MAX,
    GROUPS_MAX,
    MEMBERS_MAX,
    FleetPlan,
    MembershipPattern,
    plan_group,
)
from rebalance_agent.testing.synthetic.group_calendar import DAY_MS, PARTITIONS_MAX, Calendar
from rebalance_agent.testing.synthetic.hourly_load import HOUR_MS, is_working_time, load_at
from rebalance_agent.testing.synthetic.maintenance import BrokerRestart, Maintenance, NodeDrain
from rebalance_agent.testing.synthetic.synthetic_history import history
from rebalance_agent.tracking.patterns.rollout_evidence import pod_template

FLEET = FleetPlan(groups=300, days=1, seed=7)
_AT_NOON = BrokerRestart(12 * HOUR_MS, 60_000)


def test_the_load_is_high_by_day_low_by_night_and_lower_on_weekends():
    noon, night, sunday = 12 * HOUR_MS, 3 * HOUR_MS, 6 * DAY_MS + 12 * HOUR_MS
    assert load_at(night) < load_at(sunday) < load_at(noon) <= 1.0
    assert load_at(noon) == load_at(7 * DAY_MS + noon)
    assert load_at(night - HOUR_MS // 2) == (load_at(night - HOUR_MS) + load_at(night)) / 2


def test_people_deploy_on_working_days_only():
    assert is_working_time(10 * HOUR_MS)
    assert not is_working_time(3 * HOUR_MS)
    assert not is_working_time(5 * DAY_MS + 10 * HOUR_MS)


def test_a_group_does_not_depend_on_the_number_of_others():
    assert plan_group(FLEET, 5) == plan_group(FleetPlan(groups=6, days=90, seed=7), 5)
    assert plan_group(FLEET, 5) != plan_group(FleetPlan(groups=300, days=1, seed=8), 5)


def test_a_fleet_has_every_kind_of_group():
    plans = [plan_group(FLEET, number) for number in range(FLEET.groups)]
    types = Counter(each.group_type for each in plans)
    assert set(types) == set(GroupType)
    assert types[GroupType.CLASSIC] > FLEET.groups / 2
    assert {each.pattern for each in plans} == set(MembershipPattern)
    assert {each.assignor for each in plans} > {"range", "roundrobin", "cooperative-sticky", "uniform", ""}
    assert all(1 <= each.members <= MEMBERS_MAX for each in plans)
    for chosen in (
        [each for each in plans if each.static],
        [each for each in plans if each.reports],
        [each for each in plans if each.slow_ms],
        [each for each in plans if not each.rolling],
    ):
        assert 0 < len(chosen) < len(plans) / 2
    assert len({each.name for each in plans}) == len(plans)


def test_range_overloads_the_first_members_of_the_first_group():
    for seed in range(20):
        plan = plan_group(FleetPlan(groups=1, days=1, seed=seed), 0)
        counts = set(plan.topics.values())
        assert plan.assignor == "range"
        assert len(plan.topics) >= 4
        assert len(counts) == 1
        assert counts.pop() % plan.members


@pytest.mark.parametrize(
    "wrong",
    [{"groups": 0}, {"groups": GROUPS_MAX + 1}, {"days": 0}, {"days": DAYS_MAX + 1}, {"since_ms": 1_780_272_000_001}],
)
def test_a_fleet_size_out_of_bounds_is_refused_by_name(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong)).removesuffix("_ms")):
        FleetPlan(**{"groups": 1, "days": 1, "seed": 1, **wrong})


def test_the_steps_of_a_group_are_a_valid_script_of_the_model():
    for number in range(60):
        plan = plan_group(FLEET, number)
        calendar, present, last_ms, counts = Calendar(plan, random.Random(number)), set(), 0, dict(plan.topics)
        for day in range(5):
            steps = calendar.day(day)
            assert check_script(steps, SimulationSettings(), present) == steps, "ordered by time"
            assert all(last_ms <= step.at_ms for step in steps[:1])
            last_ms = steps[-1].at_ms if steps else last_ms
            for step in steps:
                if isinstance(step, TopicGrows):
                    assert counts[step.topic] < step.partitions <= PARTITIONS_MAX
                    counts[step.topic] = step.partitions
            assert {each.name for each in calendar.members} == present


def test_autoscaled_groups_follow_the_load():
    number = next(
        each
        for each in range(300)
        if (plan := plan_group(FLEET, each)).pattern is MembershipPattern.SCALED and plan.members >= 8
    )
    calendar = Calendar(plan_group(FLEET, number), random.Random(1))
    sizes, present = {}, set()
    for step in calendar.day(0):
        (present.add if isinstance(step, Join) else present.discard)(getattr(step, "member", step).name)
        sizes[step.at_ms // HOUR_MS] = len(present)
    night = min(size for hour, size in sizes.items() if hour in range(2, 6))
    day = max(size for hour, size in sizes.items() if hour in range(11, 18))
    assert night < day


QUIET = {f"{what}_per_day": 0 for what in ("deploys", "crashes", "crash_loops", "storms", "growths")}
STEADY = replace(plan_group(FLEET, 1), members=20, pattern=MembershipPattern.STEADY, static=False, **QUIET)


def test_successors_have_the_hash_of_another_template_if_their_pods_are_named_as_by_kubernetes():
    calendar = Calendar(replace(STEADY, deploys_per_day=3, kubernetes_hashes=True), random.Random(1))
    names = [step.member.name for step in calendar.day(0) if isinstance(step, Join)]
    templates = [pod_template(name) for name in names]
    assert None not in templates
    assert len(set(templates)) == calendar.members.release > 1


def test_a_drain_moves_the_members_of_its_node_to_others():
    drains = [NodeDrain(DAY_MS + HOUR_MS * hour, node) for hour, node in enumerate(NODES[:23])]
    calendar = Calendar(STEADY, random.Random(1), Maintenance(drains))
    calendar.day(0)
    before = {each.name: each.where.node for each in calendar.members}
    steps, joined = calendar.day(1), {each.name: each.where.node for each in calendar.members}
    moved = [name for name, node in before.items() if node in NODES[:23]]
    assert {step.name for step in steps if isinstance(step, Leave)} >= set(moved)
    assert len(joined) == len(before)
    assert not set(moved) & joined.keys()


def test_a_broker_that_restarts_changes_the_racks_twice_also_during_a_deploy():
    restart = BrokerRestart(DAY_MS - 30_000, 60_000)
    calendar = Calendar(STEADY, random.Random(1), Maintenance(restarts=[restart]))
    steps = [*calendar.day(0), *calendar.day(1)]
    changes = [RacksChange(restart.at_ms), RacksChange(restart.at_ms + 60_000)]
    assert [step for step in steps if isinstance(step, RacksChange)] == changes


def test_the_coordinators_that_assign_begin_an_epoch_when_racks_change():
    plan = replace(STEADY, group_type=GroupType.CONSUMER, assignor="uniform")
    events = [history(FLEET, 1, None, plan, Maintenance(restarts=restarts)) for restarts in ((), [_AT_NOON])]
    without, restarted = ([each for each in run if isinstance(each, GenerationEvent)] for run in events)
    assert len(restarted) == len(without) + 2
    assert all(each.noop for each in restarted[-2:])


def test_a_roster_returns_the_member_with_a_name_at_a_time():
    plan = plan_group(FLEET, next(each for each in range(300) if plan_group(FLEET, each).static))
    roster = Calendar(plan, random.Random(1)).members
    first = roster.start(1_000)
    roster.end(5_000, first.name)
    roster.release += 1
    again = roster.start(6_000, first.name)
    assert roster.at(5_500, first.name) is first
    assert roster.at(6_000, first.name) is again
    assert first.where.image != again.where.image
    roster.end(7_000, first.name)
    roster.forget(8_000)
    with pytest.raises(KeyError):
        roster.at(6_000, first.name)
