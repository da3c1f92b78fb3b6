from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.demo.scenario_types import DemoStep, Expected, KillMember, StartMember
from rebalance_agent.demo.step_schedule import CALM_SECONDS, PAUSE_SECONDS_MAX, STEP_SECONDS_MAX, StepSchedule
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.views import RunningRebalance
from support.observer.demo_events import group_summary

TICK_MS = 100


class World:
    """Groups that the test changes, and a schedule that is updated every tenth of a second."""

    def __init__(self, *steps, until=1_000.0, members=None):
        self.clock = FakeClock()
        self.groups = {name: stable(1, count) for name, count in (members or {"a": 1, "b": 1}).items()}
        self.executed = []
        self.schedule = StepSchedule(steps, members or {"a": 1, "b": 1}, self.clock, until)

    def pass_seconds(self, seconds):
        for _ in range(round(seconds * 1000 / TICK_MS)):
            self.schedule.advance(self.groups, self.executed.append)
            self.clock.advance(TICK_MS)
        self.schedule.advance(self.groups, self.executed.append)

    def run(self, name):
        return next(run for run in self.schedule.runs if run.step.name == name)


def stable(generation, members):
    return group_summary(generation=generation, members=members)


def join(name, group, members):
    return DemoStep(name, "", (StartMember(group, name),), (Expected(group, Trigger.MEMBER_JOINED, members),))


def test_a_step_begins_only_after_its_group_was_stable():
    world = World(join("x", "a", 2))
    world.pass_seconds(CALM_SECONDS - 0.1)
    assert world.executed == []
    world.pass_seconds(0.2)
    assert world.executed == [StartMember("a", "x")]
    assert world.run("x").after == {"a": 1}


@pytest.mark.parametrize(
    "not_calm",
    [
        group_summary(state=GroupState.PREPARING_REBALANCE, generation=1, members=1),
        group_summary(running=RunningRebalance(0, 0), generation=1, members=1),
        stable(1, 2),
        stable(None, 1),
    ],
)
def test_a_step_does_not_begin_while_its_group_is_unstable(not_calm):
    world = World(join("x", "a", 2))
    world.groups["a"] = not_calm
    world.pass_seconds(30)
    assert world.executed == []


def test_a_late_step_is_named_once_with_what_it_waits_for():
    world = World(join("x", "a", 2), join("y", "b", 2))
    world.groups["a"] = stable(1, 3)
    world.pass_seconds(STEP_SECONDS_MAX - 1)
    assert world.schedule.news(world.groups) == ""
    world.pass_seconds(1)
    assert world.schedule.news(world.groups) == "x waits for a (3 members, expected 1)"
    assert world.schedule.news(world.groups) == ""


def test_a_late_step_delays_only_steps_of_its_own_groups_and_not_the_end():
    world = World(join("x", "a", 2), join("y", "a", 3), join("z", "b", 2), until=float("inf"))
    world.groups["a"] = stable(1, 3)
    world.pass_seconds(STEP_SECONDS_MAX)
    assert world.executed == [StartMember("b", "z")]
    world.groups["b"] = stable(2, 2)
    world.pass_seconds(CALM_SECONDS + 1)
    assert world.run("z").over
    assert world.schedule.over
    assert [world.schedule.news(world.groups).partition(" ")[0] for _ in range(3)] == ["x", "y", ""]


def test_a_step_ends_once_the_group_has_a_newer_generation_and_the_expected_members_for_a_while():
    world = World(join("x", "a", 2))
    world.pass_seconds(2)
    world.groups["a"] = stable(2, 1)
    world.pass_seconds(2)
    assert not world.run("x").over
    world.groups["a"] = stable(3, 2)
    world.pass_seconds(0.5)
    assert not world.run("x").over
    assert world.run("x").ended == {}
    world.pass_seconds(CALM_SECONDS)
    assert world.run("x").over
    assert world.run("x").ended == {"a": stable(3, 2)}
    assert world.schedule.over


def test_a_followup_generation_belongs_to_the_previous_step():
    world = World(join("x", "a", 2), join("y", "a", 3))
    world.pass_seconds(2)
    world.groups["a"] = stable(2, 2)
    world.pass_seconds(0.5)
    world.groups["a"] = stable(3, 2)
    world.pass_seconds(PAUSE_SECONDS_MAX + 2)
    assert world.run("y").after == {"a": 3}


def test_a_step_does_not_wait_for_a_long_step_of_another_group():
    kill = DemoStep("k", "", (KillMember("a", "m"),), (Expected("a", Trigger.MEMBER_FAILED, 0),))
    world = World(kill, join("x", "b", 2))
    world.pass_seconds(PAUSE_SECONDS_MAX + 2)
    assert world.executed == [KillMember("a", "m"), StartMember("b", "x")]
    assert world.run("k").running


def test_steps_of_one_group_never_overlap():
    world = World(join("x", "a", 2), join("y", "a", 3))
    world.pass_seconds(STEP_SECONDS_MAX - 5)
    assert world.executed == [StartMember("a", "x")]


def test_a_step_without_changed_members_ends_with_the_next_generation():
    world = World(join("x", "a", 1), join("y", "a", 2))
    world.pass_seconds(STEP_SECONDS_MAX - 5)
    assert world.run("x").running
    assert world.executed == [StartMember("a", "x")]
    world.groups["a"] = stable(2, 1)
    world.pass_seconds(CALM_SECONDS + 0.5)
    assert world.run("x").over


def test_a_step_that_does_not_settle_in_time_fails_with_the_reason():
    world = World(join("x", "a", 2))
    world.pass_seconds(STEP_SECONDS_MAX + 3)
    assert world.run("x").problem == f"a did not settle within {STEP_SECONDS_MAX:g} s"
    assert world.schedule.over


def test_a_step_that_never_began_is_reported_as_such():
    world = World(join("x", "a", 2), join("y", "b", 2), until=3.0)
    world.pass_seconds(5)
    assert world.schedule.over
    assert world.executed == [StartMember("a", "x")]
    assert world.run("y").problem == "had not begun when the run ended"


def test_pauses_between_steps_grow_with_the_time_of_the_run():
    beginnings = {}
    for until in (20.0, 1_000.0):
        world = World(join("x", "a", 2), join("y", "b", 2), until=until)
        world.pass_seconds(15)
        beginnings[until] = world.run("y").began - world.run("x").began
    assert beginnings[20.0] == pytest.approx(7.5, abs=0.2)
    assert beginnings[1_000.0] == pytest.approx(PAUSE_SECONDS_MAX, abs=0.2)


def test_the_pause_after_a_late_step_is_shorter():
    world = World(join("x", "a", 2), join("y", "a", 3), join("z", "b", 2), until=20.0)
    world.pass_seconds(10)  # "y" was due at 7 s, and waits for the generation of "x"
    world.groups["a"] = stable(2, 2)
    world.pass_seconds(8)
    began = {run.step.name: run.began for run in world.schedule.runs}
    assert began["x"] == pytest.approx(CALM_SECONDS, abs=0.2)
    assert began["y"] == pytest.approx(10 + CALM_SECONDS, abs=0.2)
    assert began["z"] - began["y"] == pytest.approx(2.5, abs=0.2), "half of the pause of 5 s"


def test_a_step_waits_for_groups_that_must_not_change_too_and_ends_without_a_generation_of_theirs():
    both = DemoStep("x", "", (StartMember("a", "x"),), (Expected("a", Trigger.MEMBER_JOINED, 2),), unchanged=("b",))
    world = World(both, join("y", "b", 2))
    world.pass_seconds(CALM_SECONDS)
    assert world.run("x").after == {"a": 1, "b": 1}
    world.groups["a"] = stable(2, 2)
    world.groups["b"] = stable(1, 2)
    world.pass_seconds(CALM_SECONDS + 1)
    assert world.run("x").running, "b has another number of members"
    world.groups["b"] = stable(1, 1)
    world.pass_seconds(CALM_SECONDS + TICK_MS / 1000)
    assert world.run("x").over
    assert world.run("x").ended == world.groups


def test_a_step_does_not_begin_while_another_one_that_must_not_change_its_group_runs():
    one = DemoStep("x", "", (), (Expected("a", Trigger.MEMBER_JOINED, 2),), unchanged=("b",))
    world = World(one, join("y", "b", 2))
    world.pass_seconds(CALM_SECONDS + PAUSE_SECONDS_MAX)
    assert world.run("y").began is None
    world.groups["a"] = stable(2, 2)
    world.pass_seconds(CALM_SECONDS + TICK_MS / 1000)
    assert world.run("y").running
