"""Invariants of the coordinator model, for any script."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation import (
    Crash,
    Delete,
    Join,
    Leave,
    SimulatedMember,
    SimulationSettings,
    Subscribe,
    simulate,
)
from support.assignors.scripts import TOPICS, all_settings, check, scripts
from support.examples import examples

EAGER, COOPERATIVE = ("weighted-sticky",), ("cooperative-weighted-sticky",)


@settings(max_examples=examples())
@given(scripts(), all_settings())
def test_every_script_ends_with_valid_generations_and_no_partition_with_two_owners(script, conditions):
    check(simulate(TOPICS, script, conditions))


@settings(max_examples=examples(50))
@given(scripts(), all_settings())
def test_equal_scripts_have_equal_timelines(script, conditions):
    assert simulate(TOPICS, script, conditions) == simulate(TOPICS, list(script), conditions)


@settings(max_examples=examples())
@given(scripts(), all_settings())
def test_a_group_becomes_stable_if_no_member_exceeds_the_timeouts(script, conditions):
    timeline = simulate(TOPICS, patient(script), conditions)
    assert timeline.settled
    assert timeline.states[-1].state in {"Stable", "Empty", "Dead"}
    assert not any(each.expelled for each in timeline.generations if each.members.keys() <= each.joins.keys())


@settings(max_examples=examples())
@given(scripts(lists=[COOPERATIVE]), all_settings())
def test_under_a_cooperative_strategy_kept_partitions_never_stall(script, conditions):
    script = [each for each in patient(script) if not isinstance(each, Subscribe | Delete)]
    timeline = simulate(TOPICS, script, conditions)
    for before, after in itertools.pairwise(timeline.generations):
        ended = {each.name for each in script if isinstance(each, Leave | Crash) and each.at_ms <= after.synced_ms}
        given_up = {
            (each.member, pair)
            for each in timeline.handovers
            if not each.took and before.synced_ms <= each.at_ms <= after.synced_ms
            for pair in pairs(each.partitions)
        }
        for member_id in before.members.keys() & after.members.keys():
            name = before.members[member_id]
            kept = pairs(before.assignment[member_id]) & pairs(after.assignment[member_id])
            assert name in ended or not {(name, pair) for pair in kept} & given_up


def patient(script):
    """The same with timeouts that no member exceeds."""
    roomy = {"rebalance_timeout_ms": 300_000, "session_timeout_ms": 10_000}
    return [replace(step, member=replace(step.member, **roomy)) if isinstance(step, Join) else step for step in script]


@settings(max_examples=examples(60))
@given(
    members=st.integers(2, 8),
    partitions=st.integers(1, 24),
    callback_ms=st.sampled_from([0, 30, 900]),
    processing_ms=st.sampled_from([0, 400, 5_000]),
    gone=st.data(),
)
def test_when_members_leave_a_cooperative_group_stalls_no_longer_than_an_eager_one(
    members, partitions, callback_ms, processing_ms, gone
):
    names = [f"m{number}" for number in range(members)]
    going = gone.draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=members - 1))
    kind = gone.draw(st.sampled_from([Leave, Crash]))
    stalls = {}
    for listed in (EAGER, COOPERATIVE):
        spec = SimulatedMember(
            "", ("t",), listed, processing_ms=processing_ms, revoked_ms=callback_ms, assigned_ms=callback_ms
        )
        script = [Join(0, replace(spec, name=name)) for name in names]
        start = simulate({"t": TopicMetadata(partitions)}, script)
        script += [kind(100_000, name) for name in going]
        whole = simulate({"t": TopicMetadata(partitions)}, script)
        assert whole.stalls[: len(start.stalls)] == start.stalls
        later = [each for each in whole.stalls if each.stopped_ms >= 100_000]
        stalls[listed] = (
            max((each.resumed_ms - each.stopped_ms for each in later), default=0),
            sum((each.resumed_ms - each.stopped_ms) * len(pairs(each.partitions)) for each in later),
        )
    assert stalls[EAGER] >= stalls[COOPERATIVE]
    assert stalls[EAGER][1] >= stalls[COOPERATIVE][1]


@settings(max_examples=examples(60))
@given(
    members=st.integers(2, 6),
    slow_ms=st.integers(10_000, 100_000),
    heartbeat_ms=st.sampled_from([100, 1_000, 3_000]),
    at_ms=st.integers(100_000, 200_000),
)
def test_the_processing_time_of_one_member_is_the_stall_of_the_others(members, slow_ms, heartbeat_ms, at_ms):
    def member(name, **fields):
        return SimulatedMember(name, ("t",), EAGER, heartbeat_interval_ms=heartbeat_ms, **fields)

    script = [Join(0, member("slow", processing_ms=slow_ms)), *(Join(0, member(f"m{n}")) for n in range(1, members))]
    script.append(Join(at_ms, member("new")))
    timeline = simulate({"t": TopicMetadata(24)}, script, SimulationSettings(initial_rebalance_delay_ms=50))
    last = timeline.generations[-1]
    assert last.last_to_join == "slow"
    join_ms = last.joined_ms - at_ms
    assert 0 <= join_ms <= slow_ms + heartbeat_ms
    stalls = [each for each in timeline.stalls if each.stopped_ms >= at_ms]
    waited = sum((each.resumed_ms - each.stopped_ms) * len(pairs(each.partitions)) for each in stalls)
    owned = sum(len(pairs(timeline.generations[-2].of(f"m{n}"))) for n in range(1, members))
    # Each of the others' partitions stalls from its owner's heartbeat until the slow member has joined.
    assert owned * max(0, join_ms - heartbeat_ms) <= waited <= owned * join_ms
