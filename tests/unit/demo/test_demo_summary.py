from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rebalance_agent.demo.observed.differences import SeenStep, slowest_client
from rebalance_agent.demo.observed.summary import seen_steps, summarise, to_json
from rebalance_agent.demo.scenario_types import DemoStep
from rebalance_agent.demo.step_schedule import NOT_BEGUN, StepRun
from support.observer.demo_events import (
    COORDINATOR,
    EVENT,
    GAUGES,
    GROUP,
    SEEN,
    SLOW,
    SPREAD,
    generation_event,
    group_summary,
    summary,
)

STICKY = {"protocol": "sticky", "described_protocol": "sticky"}


def test_the_json_form_is_the_documented_one():
    ended = {"g": group_summary("g", host_spread=SPREAD), "other": group_summary("other", host_spread=None)}
    assert json.loads(json.dumps(to_json(summary(step=replace(SEEN, ended=ended))))) == {
        "groups": {
            "g": {
                "client": "kafka-python",
                "assignor": "range",
                "group_type": "classic",
                "generation": 7,
                "members": {"one": 2, "two": 1},
                "rebalances": 1,
                "stall_seconds": [6.25],
                "check": "ok",
                "handovers": [],
                "seats": {},
            }
        },
        "steps": [
            {
                "name": "slow consumer",
                "expected": [{"group": "g", "trigger": "member_joined"}],
                "unchanged": [],
                "seen": [
                    {
                        "group": "g",
                        "trigger": "member_joined",
                        "generation": 7,
                        "causes": ["member_joined"],
                        "stall_seconds": 6.25,
                        "basis": "exact",
                        "slowest": "two",
                    }
                ],
                "topics_on_one_host": {"g": 80},
                "check": "ok",
            }
        ],
        "slow_consumer": {
            "client_id": "two",
            "group": "g",
            "delay_seconds": 6.0,
            "stall_seconds": 6.25,
            "basis": "exact",
        },
        "differences": [],
    }


def test_without_the_coordinators_state_groups_are_not_checked_and_steps_only_shown():
    reported = to_json(summary(coordinator=None, step=replace(SEEN, seen=())))
    assert reported["groups"]["g"]["check"] == "needs --check"
    assert reported["steps"][0]["check"] == "g: expected one episode member_joined, seen: none"
    assert reported["slow_consumer"]["stall_seconds"] is None
    assert reported["differences"] == []


def test_a_difference_is_shown_at_its_group_and_in_the_list():
    reported = summary(event=replace(EVENT, generation=8))
    assert reported.groups["g"].check == "generation in the events: the observer has 8, the coordinator 7"
    assert reported.differences == ("group g: generation in the events: the observer has 8, the coordinator 7",)


def test_an_assignor_other_than_the_scenarios_is_a_difference_although_both_sides_agree():
    fell_back = summary(event=replace(EVENT, assignor="sticky"), coordinator=replace(COORDINATOR, **STICKY))
    assert fell_back.differences == ("group g: assignor: the scenario has range, the coordinator sticky",)


def test_a_group_without_events_has_no_rows():
    reported = summarise((GROUP,), {"g": []}, {"g": GAUGES}, (), None).groups["g"]
    assert (reported.generation, reported.members, reported.assignor, reported.stall_seconds) == (None, {}, "range", ())


def test_a_steps_end_is_kept_with_its_groups_summaries():
    ended = {"g": group_summary("g")}
    (step,) = seen_steps([run("first", 1, ended=ended)], {"g": []})
    assert step.ended == ended


def run(name, after, **fields):
    return StepRun(DemoStep(name, "", (), SLOW.expected), {"g": after}, began=0.0, **fields)


def test_a_step_has_the_episodes_from_its_beginning_to_that_of_its_groups_next_step():
    episodes = {"g": [replace(EVENT, generation=number) for number in (1, 2, 3, 5, 6)]}
    first, second = seen_steps([run("first", 1, problem="late"), run("second", 3)], episodes)
    assert [episode.generation for episode in first.seen] == [2, 3]
    assert [episode.generation for episode in second.seen] == [5, 6]
    assert (first.step.name, first.problem, second.step.expected) == ("first", "late", SLOW.expected)


def test_a_step_that_did_not_begin_has_no_episodes_and_the_reason():
    (step,) = seen_steps([StepRun(DemoStep("late", "", (), SLOW.expected))], {"g": [EVENT]})
    assert step.seen == ()
    assert step.problem == "had not begun when the run ended"


LATE = SeenStep(DemoStep("late", "", (), SLOW.expected), (), NOT_BEGUN)


def noted(*steps, unread="", seconds=90.0):
    return summarise((GROUP,), {"g": []}, {"g": GAUGES}, steps, None, unread, seconds).notes


@pytest.mark.parametrize(("seconds", "longer"), [(90.0, 240), (200.0, 400)])
def test_steps_that_did_not_begin_in_time_are_counted_with_a_longer_run_that_may_have_them(seconds, longer):
    (note,) = noted(LATE, SEEN, LATE, seconds=seconds)
    assert note == (
        f"2 of 3 steps did not begin in time: this machine was too slow for a run of {seconds:g} s. "
        f'Use --seconds {longer} (make demo ARGS="--seconds {longer}").'
    )


def test_a_whole_run_and_one_without_limit_have_no_notes():
    assert noted(SEEN) == ()
    assert noted(LATE, seconds=0) == ()


def test_events_that_could_not_be_read_are_no_missed_steps():
    begun = [run("join", 1, problem=""), StepRun(DemoStep("late", "", (), SLOW.expected))]
    steps = seen_steps(begun, {"g": []}, "Local: Timed out")
    assert [step.problem for step in steps] == ["the events could not be read", NOT_BEGUN]
    assert noted(*steps[:1], unread="Local: Timed out") == (
        "the events could not be read, so rebalances are missing from the tables: Local: Timed out",
    )
    (read,) = seen_steps(begun[:1], {"g": [replace(EVENT, generation=2)]}, "Local: Timed out")
    assert read.problem == ""


def test_an_episode_is_seen_with_the_name_of_its_slowest_member():
    unknown = generation_event(slowest_member_id=None, stall=None)
    (step,) = to_json(summary(event=unknown, step=replace(SEEN, seen=(unknown,))))["steps"]
    (episode,) = step["seen"]
    assert (episode["slowest"], episode["stall_seconds"], episode["basis"]) == (None, None, None)
    assert slowest_client(EVENT) == "two"
