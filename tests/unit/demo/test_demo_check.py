from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.demo.observed.claims_check import (
    SeenEpisode,
    SeenStep,
    group_differences,
    step_differences,
    strategy_differences,
)
from rebalance_agent.demo.stories import Expected, SlowDown
from rebalance_agent.model.episode import Basis, Trigger
from support.observer.demo_events import CLAIM, WORDS


def test_equal_words_are_no_difference():
    assert group_differences(CLAIM, WORDS) == []


@pytest.mark.parametrize(
    ("claim", "difference"),
    [
        (replace(CLAIM, generation=8), "generation in the events: ours is 8, the coordinator's 7"),
        (replace(CLAIM, gauge_generation=6), "generation on /metrics: ours is 6, the coordinator's 7"),
        (replace(CLAIM, generation=None), "generation in the events: ours is None, the coordinator's 7"),
        (replace(CLAIM, protocol="sticky"), "protocol: ours is sticky, the coordinator's range"),
        (replace(CLAIM, gauge_members=3), "number of members on /metrics: ours is 3, the coordinator's 2"),
        (
            replace(CLAIM, clients={"m-1": "one", "m-2": "other"}),
            "client id of m-2: ours is other, the coordinator's two",
        ),
        (replace(CLAIM, gauge_owned={"one": 2}), "partitions of two on /metrics: ours are 0, the coordinator's 1"),
    ],
)
def test_one_corrupted_fact_is_one_difference_that_names_it(claim, difference):
    assert group_differences(claim, WORDS) == [difference]


def test_one_corrupted_partition_is_named_on_both_sides():
    claim = replace(CLAIM, assignment={"m-1": {"t": (0, 3)}, "m-2": {"t": (2,)}})
    assert group_differences(claim, WORDS) == [
        "partitions of one that only ours has: t 3",
        "partitions of one that ours lacks: t 1",
    ]


def test_a_member_that_only_one_side_knows_is_named_with_its_partitions():
    words = replace(
        WORDS, clients={"m-1": "one", "m-3": "three"}, assignment={"m-1": {"t": (0, 1)}, "m-3": {"t": (2,)}}
    )
    assert group_differences(CLAIM, words) == [
        "member three (m-3) is missing in ours",
        "member two (m-2) is only in ours",
        "partitions of two that only ours has: t 2",
        "partitions of three that ours lacks: t 2",
        "partitions of three on /metrics: ours are 0, the coordinator's 1",
        "partitions of two on /metrics: ours are 1, the coordinator's 0",
    ]


def test_a_group_that_rebalances_is_a_difference():
    assert group_differences(CLAIM, replace(WORDS, state="PreparingRebalance")) == [
        "state: ours is Stable, the coordinator's PreparingRebalance"
    ]


def test_a_group_that_fell_back_to_its_clients_own_assignor_is_a_difference():
    assert strategy_differences("range", WORDS) == []
    assert strategy_differences("weighted-sticky", WORDS) == [
        "assignor: the story's is weighted-sticky, the coordinator's range"
    ]


EXPECTED = Expected("g", Trigger.MEMBER_JOINED, 3)
SEEN = SeenEpisode("g", Trigger.MEMBER_JOINED, 5, (), 6.4, Basis.EXACT, "slow")
SLOW = SlowDown("g", "slow", 6.0)


def step(*seen, slow=None, problem=""):
    return SeenStep("join", (EXPECTED,), seen, slow, problem)


def test_one_episode_with_its_trigger_is_what_a_step_must_be():
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
def test_a_missing_doubled_or_misread_step_says_what_was_seen(seen, text):
    assert step_differences(step(*seen)) == [f"g: expected one episode member_joined, seen: {text}"]


@pytest.mark.parametrize(
    ("partitions", "differences"),
    [
        ({"one": 12, "two": 4}, []),
        ({"one": 8, "two": 8}, ["g: expected partitions one=12 two=4, seen: one=8 two=8"]),
        ({}, ["g: expected partitions one=12 two=4, seen: none"]),
    ],
)
def test_a_step_with_shares_must_end_with_just_these(partitions, differences):
    expected = replace(EXPECTED, partitions={"two": 4, "one": 12})
    seen = replace(SEEN, partitions=partitions)
    assert step_differences(SeenStep("join", (expected,), (seen,))) == differences


def test_a_step_that_did_not_run_says_why():
    assert step_differences(step(problem="did not begin")) == ["did not begin"]


@pytest.mark.parametrize("stall", [6.0, 6.4, 7.0])
def test_a_slow_consumer_stalls_its_group_for_its_delay_and_up_to_one_second_more(stall):
    assert step_differences(step(replace(SEEN, stall_seconds=stall), slow=SLOW)) == []


@pytest.mark.parametrize(
    ("episode", "text"),
    [
        (replace(SEEN, stall_seconds=5.999), "stall is 5.999 s, not 6 to 7 s"),
        (replace(SEEN, stall_seconds=7.001), "stall is 7.001 s, not 6 to 7 s"),
        (replace(SEEN, stall_seconds=None), "stall is unknown, not 6 to 7 s"),
        (replace(SEEN, basis=Basis.BOUND), "stall is not exact but bound"),
        (replace(SEEN, slowest_client_id="fast"), "the slowest member is fast, not slow"),
    ],
)
def test_a_slow_consumer_that_is_not_measured_or_not_named_is_a_difference(episode, text):
    (difference,) = step_differences(step(episode, slow=SLOW))
    assert text in difference
