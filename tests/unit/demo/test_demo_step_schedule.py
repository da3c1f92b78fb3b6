from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.demo.scenario_types import Expected, KillMember, StartMember, StoryStep
from rebalance_agent.demo.step_schedule import CALM_SECONDS, PAUSE_SECONDS_MAX, STEP_SECONDS_MAX, Timetable
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.views import RunningRebalance
from support.observer.demo_events import group_summary

TICK_MS = 100


class World:
    """Groups that the test moves, and a timetable that looks at them every tenth of a second."""

    def __init__(self, *steps, until=1_000.0, members=None):
        self.clock = FakeClock()
        self.groups = {name: stable(1, count) for name, count in (members or {"a": 1, "b": 1}).items()}
        self.performed = []
        self.timetable = Timetable(steps, members or {"a": 1, "b": 1}, self.clock, until)

    def pass_seconds(self, seconds):
        for _ in range(round(seconds * 1000 / TICK_MS)):
            self.timetable.advance(self.groups, self.performed.append)
            self.clock.advance(TICK_MS)
        self.timetable.advance(self.groups, self.performed.append)

    def run(self, name):
        return next(run for run in self.timetable.runs if run.step.name == name)


def stable(generation, members):
    return group_summary(generation=generation, members=members)


def join(name, group, members):
    return StoryStep(name, "", (StartMember(group, name),), (Expected(group, Trigger.MEMBER_JOINED, members),))


def test_a_step_begins_only_after_its_group_was_calm():
    world = World(join("x", "a", 2))
    world.pass_seconds(CALM_SECONDS - 0.1)
    assert world.performed == []
    world.pass_seconds(0.2)
    assert world.performed == [StartMember("a", "x")]
    assert world.run("x").after == {"a": 1}


@pytest.mark.parametrize(
    "restless",
    [
        group_summary(state=GroupState.PREPARING_REBALANCE, generation=1, members=1),
        group_summary(running=RunningRebalance(0, 0), generation=1, members=1),
        stable(1, 2),
        stable(None, 1),
    ],
)
def test_a_restless_group_keeps_its_step_waiting(restless):
    world = World(join("x", "a", 2))
    world.groups["a"] = restless
    world.pass_seconds(30)
    assert world.performed == []


def test_a_step_is_over_when_the_group_has_a_newer_generation_and_the_expected_members_for_a_while():
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
    assert world.timetable.over


def test_a_followup_generation_belongs_to_the_step_before_it():
    world = World(join("x", "a", 2), join("y", "a", 3))
    world.pass_seconds(2)
    world.groups["a"] = stable(2, 2)
    world.pass_seconds(0.5)
    world.groups["a"] = stable(3, 2)
    world.pass_seconds(PAUSE_SECONDS_MAX + 2)
    assert world.run("y").after == {"a": 3}


def test_a_step_of_another_group_does_not_wait_for_one_that_takes_long():
    kill = StoryStep("k", "", (KillMember("a", "m"),), (Expected("a", Trigger.MEMBER_FAILED, 0),))
    world = World(kill, join("x", "b", 2))
    world.pass_seconds(PAUSE_SECONDS_MAX + 2)
    assert world.performed == [KillMember("a", "m"), StartMember("b", "x")]
    assert world.run("k").running


def test_steps_of_one_group_never_overlap():
    world = World(join("x", "a", 2), join("y", "a", 3))
    world.pass_seconds(STEP_SECONDS_MAX - 5)
    assert world.performed == [StartMember("a", "x")]


def test_a_step_that_changes_no_member_is_not_over_before_the_next_generation():
    world = World(join("x", "a", 1), join("y", "a", 2))
    world.pass_seconds(STEP_SECONDS_MAX - 5)
    assert world.run("x").running
    assert world.performed == [StartMember("a", "x")]
    world.groups["a"] = stable(2, 1)
    world.pass_seconds(CALM_SECONDS + 0.5)
    assert world.run("x").over


def test_a_step_that_never_settles_is_given_up_with_the_reason():
    world = World(join("x", "a", 2))
    world.pass_seconds(STEP_SECONDS_MAX + 3)
    assert world.run("x").problem == f"a did not settle within {STEP_SECONDS_MAX:g} s"
    assert world.timetable.over


def test_what_has_not_begun_when_the_time_is_up_says_so():
    world = World(join("x", "a", 2), join("y", "b", 2), until=3.0)
    world.pass_seconds(5)
    assert world.timetable.over
    assert world.performed == [StartMember("a", "x")]
    assert world.run("y").problem == "did not begin in time"


def test_pauses_use_the_time_there_is():
    beginnings = {}
    for until in (20.0, 1_000.0):
        world = World(join("x", "a", 2), join("y", "b", 2), until=until)
        world.pass_seconds(15)
        beginnings[until] = world.run("y").began - world.run("x").began
    assert beginnings[20.0] == pytest.approx(7.5, abs=0.2)
    assert beginnings[1_000.0] == pytest.approx(PAUSE_SECONDS_MAX, abs=0.2)


def test_a_step_that_begins_late_is_caught_up_with_by_shorter_pauses():
    world = World(join("x", "a", 2), join("y", "a", 3), join("z", "b", 2), until=20.0)
    world.pass_seconds(10)  # "y" was due at 7 s, and waits for the generation of "x"
    world.groups["a"] = stable(2, 2)
    world.pass_seconds(8)
    began = {run.step.name: run.began for run in world.timetable.runs}
    assert began["x"] == pytest.approx(CALM_SECONDS, abs=0.2)
    assert began["y"] == pytest.approx(10 + CALM_SECONDS, abs=0.2)
    assert began["z"] - began["y"] == pytest.approx(2.5, abs=0.2), "half of the pause of 5 s"
