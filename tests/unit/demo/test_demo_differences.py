from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.demo.observed.differences import (
    SeenStep,
    group_differences,
    owned_counts,
    step_differences,
    strategy_differences,
)
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.scenario_types import DemoStep, Expected, SlowDown
from rebalance_agent.demo.step_schedule import NOT_BEGUN
from rebalance_agent.model.episode import Basis, Stall, Trigger
from support.observer.demo_events import COORDINATOR, EVENT, GAUGES, SPREAD, generation_event, group_summary, snapshot


def test_an_event_equal_to_the_coordinators_state_has_no_difference():
    assert group_differences(EVENT, GAUGES, COORDINATOR) == []


@pytest.mark.parametrize(
    ("event", "gauges", "difference"),
    [
        (replace(EVENT, generation=8), GAUGES, "generation in the events: the observer has 8, the coordinator 7"),
        (EVENT, replace(GAUGES, generation=6), "generation on /metrics: the observer has 6, the coordinator 7"),
        (replace(EVENT, assignor="sticky"), GAUGES, "protocol: the observer has sticky, the coordinator range"),
        (EVENT, replace(GAUGES, members=3), "number of members on /metrics: the observer has 3, the coordinator 2"),
        (
            replace(EVENT, members=(snapshot("m-1", "one", 0, 1), snapshot("m-2", "other", 2))),
            GAUGES,
            "client id of m-2: the observer has other, the coordinator two",
        ),
        (
            EVENT,
            replace(GAUGES, owned={"one": 2}),
            "partitions of two on /metrics: the observer has 0, the coordinator 1",
        ),
    ],
)
def test_one_corrupted_fact_is_one_difference_that_names_it(event, gauges, difference):
    assert group_differences(event, gauges, COORDINATOR) == [difference]


def test_a_group_without_an_event_differs_in_everything_that_events_show():
    assert group_differences(None, GAUGES, COORDINATOR) == [
        "generation in the events: the observer has None, the coordinator 7",
        "protocol: the observer has None, the coordinator range",
        "member one (m-1) is only in the coordinator's state",
        "member two (m-2) is only in the coordinator's state",
        "partitions of one that only the coordinator has: t 0-1",
        "partitions of two that only the coordinator has: t 2",
    ]
    assert "generation on /metrics: the observer has None, the coordinator 7" in group_differences(
        None, GroupGauges(), COORDINATOR
    )


def test_one_corrupted_partition_is_named_on_both_sides():
    event = replace(EVENT, members=(snapshot("m-1", "one", 0, 3), snapshot("m-2", "two", 2)))
    assert group_differences(event, GAUGES, COORDINATOR) == [
        "partitions of one that only the observer has: t 3",
        "partitions of one that only the coordinator has: t 1",
    ]


def test_a_member_known_to_one_side_only_is_a_difference_with_its_partitions():
    coordinator = replace(
        COORDINATOR, clients={"m-1": "one", "m-3": "three"}, assignment={"m-1": {"t": (0, 1)}, "m-3": {"t": (2,)}}
    )
    assert group_differences(EVENT, GAUGES, coordinator) == [
        "member three (m-3) is only in the coordinator's state",
        "member two (m-2) is only in the observer's state",
        "partitions of two that only the observer has: t 2",
        "partitions of three that only the coordinator has: t 2",
        "partitions of three on /metrics: the observer has 0, the coordinator 1",
        "partitions of two on /metrics: the observer has 1, the coordinator 0",
    ]


def test_members_with_equal_client_ids_are_compared_as_in_metrics_and_tables():
    two = {"m-1": "one", "m-2": "one"}
    event = replace(EVENT, members=(snapshot("m-1", "one", 0, 1), snapshot("m-2", "one", 2)))
    coordinator = replace(COORDINATOR, clients=two)
    assert owned_counts(event) == {"one": 3}
    assert group_differences(event, replace(GAUGES, owned={"one": 2}), coordinator) == []
    assert group_differences(event, replace(GAUGES, owned={"one": 3}), coordinator) == [
        "partitions of one on /metrics: the observer has 3, the coordinator 2"
    ]


def test_a_group_that_rebalances_is_a_difference():
    assert group_differences(EVENT, GAUGES, replace(COORDINATOR, state="PreparingRebalance")) == [
        "state: the observer has Stable, the coordinator PreparingRebalance"
    ]


def test_a_group_that_fell_back_to_its_clients_own_assignor_is_a_difference():
    assert strategy_differences("range", COORDINATOR) == []
    assert strategy_differences("weighted-sticky", COORDINATOR) == [
        "assignor: the scenario has weighted-sticky, the coordinator range"
    ]


EXPECTED = Expected("g", Trigger.MEMBER_JOINED, 3)
SEEN = generation_event(5, stall=Stall(6.4, 6.4, 18.0, Basis.EXACT))
SLOW = SlowDown("g", "two", 6.0)


def step(*seen, slow=None, problem="", expected=EXPECTED):
    return SeenStep(DemoStep("join", "", (slow,) if slow else (), (expected,)), seen, problem)


def test_a_step_must_be_one_episode_with_its_trigger():
    assert step_differences(step(SEEN)) == []


def test_an_episode_of_another_group_is_not_the_step():
    assert step_differences(step(SEEN, replace(SEEN, group="other"))) == []
    assert step_differences(step(replace(SEEN, group="other"))) != []


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ((), "none"),
        ((SEEN, replace(SEEN, generation=6)), "member_joined (generation 5), member_joined (generation 6)"),
        ((replace(SEEN, trigger=Trigger.REJOIN),), "rejoin (generation 5)"),
    ],
)
def test_a_missing_doubled_or_misread_step_is_a_difference_with_the_triggers_seen(seen, text):
    assert step_differences(step(*seen)) == [f"g: expected one episode member_joined, seen: {text}"]


@pytest.mark.parametrize(
    ("partitions", "differences"),
    [
        ({"one": 12, "two": 4}, []),
        ({"one": 8, "two": 8}, ["g: expected partitions one=12 two=4, seen: one=8 two=8"]),
        ({}, ["g: expected partitions one=12 two=4, seen: none"]),
    ],
)
def test_a_step_with_expected_shares_must_end_with_exactly_these(partitions, differences):
    expected = replace(EXPECTED, partitions={"two": 4, "one": 12})
    members = [snapshot(client, client, *range(count)) for client, count in partitions.items()]
    seen = replace(SEEN, members=tuple(members))
    assert owned_counts(seen) == partitions
    assert step_differences(step(seen, expected=expected)) == differences


@pytest.mark.parametrize(("found", "text"), [(80, "80"), (1, "1"), (None, "unknown")])
def test_a_step_that_ends_with_another_number_of_topics_on_one_host_is_a_difference(found, text):
    spread = None if found is None else replace(SPREAD, on_one_host=found)
    ended = {"g": group_summary("g", host_spread=spread)}
    seen = replace(step(SEEN, expected=replace(EXPECTED, on_one_host=0)), ended=ended)
    assert step_differences(seen) == [f"g: expected 0 topics on one host, seen: {text}"]


def test_a_step_that_ends_with_the_expected_number_of_topics_on_one_host_is_no_difference():
    ended = {"g": group_summary("g", host_spread=replace(SPREAD, on_one_host=81))}
    assert step_differences(replace(step(SEEN, expected=replace(EXPECTED, on_one_host=81)), ended=ended)) == []


def test_an_unfinished_step_has_no_number_of_topics_on_one_host():
    (difference,) = step_differences(step(SEEN, expected=replace(EXPECTED, on_one_host=0)))
    assert difference == "g: expected 0 topics on one host, seen: unknown"


def test_a_step_that_did_not_run_is_a_difference_with_the_reason():
    assert step_differences(step(problem="did not begin")) == ["did not begin"]


@pytest.mark.parametrize("stall", [6.0, 6.4, 7.0])
def test_a_slow_consumer_stalls_its_group_for_its_delay_and_up_to_one_second_more(stall):
    assert (
        step_differences(step(replace(SEEN, stall=replace(SEEN.stall, seconds=stall, lower_seconds=stall)), slow=SLOW))
        == []
    )


@pytest.mark.parametrize(
    ("episode", "text"),
    [
        (
            replace(SEEN, stall=replace(SEEN.stall, seconds=5.999, lower_seconds=5.999)),
            "stall is 5.999 s, not 6 to 7 s",
        ),
        (
            replace(SEEN, stall=replace(SEEN.stall, seconds=7.001, lower_seconds=7.001)),
            "stall is 7.001 s, not 6 to 7 s",
        ),
        (replace(SEEN, stall=None), "stall is unknown, not 6 to 7 s"),
        (replace(SEEN, stall=replace(SEEN.stall, basis=Basis.BOUND)), "stall is not exact, but bound"),
        (replace(SEEN, slowest_member_id="m-1"), "the slowest member is one, not two"),
    ],
)
def test_an_unmeasured_or_unnamed_slow_consumer_is_a_difference(episode, text):
    (difference,) = step_differences(step(episode, slow=SLOW))
    assert text in difference


def test_a_rebalance_of_a_group_that_must_not_change_is_a_difference():
    quiet = DemoStep("deploy", "", (), (), unchanged=("g",))
    assert step_differences(SeenStep(quiet, ())) == []
    assert step_differences(SeenStep(quiet, (EVENT,))) == [
        "g: expected no rebalance, seen: member_joined (generation 7)"
    ]
    assert step_differences(SeenStep(quiet, (), NOT_BEGUN)) == [NOT_BEGUN]
