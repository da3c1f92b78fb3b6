"""The coordinator model and a real coordinator give the same generations for the same scripts."""

from __future__ import annotations

import itertools
import random
import uuid

import pytest

from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation import (
    Crash,
    Join,
    Leave,
    SimulatedMember,
    SimulationSettings,
    restart,
    simulate,
)
from support.members.coordinating import modelled, real_group, run_moves
from support.observer.observing import create_topic, eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timed,  # late members would cause another history than the model's
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),
]

SETTINGS = SimulationSettings(initial_rebalance_delay_ms=0)
REST_MS = 60_000
SESSION_MS = 6_000  # the minimum that brokers allow
PARTITIONS = 7
SEEDS = 2_000  # ways to join together


@pytest.fixture
def topics(kafka):
    """Two topics that no other test has."""
    names = [f"topic-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for name in names:
        create_topic(kafka.bootstrap_servers, name, PARTITIONS)
    return {name: TopicMetadata(PARTITIONS) for name in names}


@pytest.fixture
def topic(topics):
    return next(iter(topics))


@pytest.fixture
def group():
    return f"group-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def member(topic):
    def make(name, *strategies, **fields):
        timeouts = {"heartbeat_interval_ms": 200, "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": 30_000}
        return SimulatedMember(name, strategies=strategies, **{"topics": (topic,), **timeouts, **fields})

    return make


@pytest.fixture
def both(kafka, topics, topic, group):
    """Executes moves in order, with real members and in the model; returns real rows, returns and errors, and the
    timeline."""

    def run(*moves, known=(topic,)):
        known = {name: topics[name] for name in known}
        dated = [move(place * REST_MS) for place, move in enumerate(moves)]
        timeline = simulate(known, [*itertools.chain(*dated)], SETTINGS)
        return *run_moves(kafka.bootstrap_servers, group, dated, known, SETTINGS), timeline

    return run


def join(member):
    return lambda at_ms: (Join(at_ms, member),)


def leave(name):
    return lambda at_ms: (Leave(at_ms, name),)


def crash(name):
    return lambda at_ms: (Crash(at_ms, name),)


def back(member):
    return lambda at_ms: restart(at_ms, member, down_ms=1_000)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "weighted-sticky", "cooperative-weighted-sticky"])
def test_members_that_join_and_leave_one_by_one_cause_the_models_generations(both, member, strategy):
    a, b, c = (member(name, strategy) for name in "abc")
    # The leader leaves first: b.
    rows, _, errors, timeline = both(join(b), join(a), join(c), leave("b"), join(b), leave("c"), leave("a"), leave("b"))
    assert rows == modelled(timeline)
    assert (errors, timeline.refusals, timeline.aborted) == ({}, (), ())
    assert ("rejoin" in {each.trigger for each in timeline.generations}) == strategy.startswith("cooperative")


def test_weights_count_as_in_a_real_group(both, member):
    weights = {"a": 900, "b": 90, "c": 10}
    moves = [
        join(member(name, "weighted-sticky", config={"assignment.consumer.weight": str(weight)}))
        for name, weight in weights.items()
    ]
    rows, _, _, timeline = both(*moves)
    assert rows == modelled(timeline)


def test_a_static_member_returns_to_its_generation_and_is_removed_only_when_its_session_ends(both, member):
    a = member("a", "weighted-sticky", instance_id="i-a")
    b = member("b", "weighted-sticky")
    rows, returns, _, timeline = both(join(a), join(b), back(a), leave("a"))
    assert rows == modelled(timeline)
    assert returns == len(timeline.replacements) == 1
    assert [each.trigger for each in timeline.generations] == ["group_started", "member_joined", "member_failed"]


def test_a_static_member_that_returns_with_another_subscription_refuses_its_old_assignment(both, member, topics):
    mine, other = topics
    a = member("a", "range", instance_id="i-a", topics=(mine,))
    b = member("b", "range", topics=(mine, other))
    changed = member("a", "range", instance_id="i-a", topics=(other,))
    rows, _, _, timeline = both(join(b), join(a), back(changed), known=(mine, other))
    # kafka-python repeats its first request, so the coordinator responds with the old generation until the session ends
    # (Java sends its new generation); b may then have to join before a is back.
    assert shared(rows) == shared(modelled(timeline))
    assert [each.trigger for each in timeline.generations] == ["group_started", "member_joined", "subscription_changed"]


def shared(rows):
    return [owned for _, _, owned in rows if len(owned) > 1]


def test_a_killed_member_is_removed_when_its_session_ends(both, member):
    rows, _, _, timeline = both(join(member("a", "roundrobin")), join(member("b", "roundrobin")), crash("a"))
    assert rows == modelled(timeline)
    assert [each.trigger for each in timeline.generations] == ["group_started", "member_joined", "member_failed"]


def test_members_with_two_strategies_change_a_group_from_one_to_the_other(both, member):
    old, mixed, new = ("range",), ("roundrobin", "range"), ("roundrobin",)
    moves = [join(member("a", *old)), join(member("b", *old))]
    for listed in (mixed, new):
        for name in "ab":
            moves += [leave(name), join(member(name, *listed))]
    rows, _, errors, timeline = both(*moves)
    assert rows == modelled(timeline)
    assert errors == {}
    assert [strategy for _, strategy, _ in rows] == ["range"] * 4 + ["roundrobin"] * 6


@pytest.mark.parametrize("tied", [("range", "roundrobin"), ("roundrobin", "failover"), ("weighted-sticky", "range")])
def test_a_tied_vote_is_decided_as_in_a_real_group(both, member, tied):
    rows, _, _, timeline = both(join(member("a", *tied)), join(member("b", *reversed(tied))))
    assert rows == modelled(timeline)


def test_a_member_without_a_common_strategy_is_refused_with_the_strategies_of_each_member(both, member):
    rows, _, errors, timeline = both(
        join(member("a", "range", "roundrobin")), join(member("b", "range")), join(member("c", "weighted-sticky"))
    )
    assert rows == modelled(timeline)
    assert [type(each).__name__ for each in errors.values()] == ["InconsistentGroupProtocolError"]
    (refusal,) = timeline.refusals
    assert refusal.member == "c" == next(iter(errors))
    assert "a offers range, roundrobin; b offers range, so c must list range." in refusal.explanation


def test_a_member_that_is_processing_delays_the_join_of_all(kafka, topics, topic, group, member):
    slow = member("slow", "range", processing_ms=7_000)
    script = [Join(0, slow), Join(REST_MS, member("quick", "range")), Join(2 * REST_MS, member("third", "range"))]
    known = {topic: topics[topic]}
    timelines = [simulate(known, script[: place + 1], SETTINGS) for place in range(3)]
    with real_group(kafka.bootstrap_servers, group, script) as real:
        for step, timeline in zip(script, timelines, strict=True):
            if step is script[2]:
                real.members["slow"].hold()
            real.take(step)
            if step is script[2]:
                eventually(lambda: real.state()[0] == "PREPARING_REBALANCING")
                assert real.generations()[0] == modelled(timelines[1])
                real.members["slow"].release()
            real.rest(timeline, known)
        assert real.generations()[0] == modelled(timelines[2])
    last = timelines[2].generations[-1]
    assert last.last_to_join == "slow"
    assert last.joined_ms - last.start_ms > 1_000
    waited = {each.owner for each in timelines[2].stalls if each.resumed_ms == last.joined_ms > each.stopped_ms}
    assert waited == {"quick"}  # the slow member itself is hardly stalled


def test_a_member_that_processes_for_too_long_leaves_and_rejoins_at_its_next_poll(kafka, topics, topic, group, member):
    script = [Join(0, member("a", "range", processing_ms=20_000, rebalance_timeout_ms=2_000, session_timeout_ms=6_000))]
    known = {topic: topics[topic]}
    expected = modelled(simulate(known, script, SETTINGS))[:3]
    assert [bool(owned) for _, _, owned in expected] == [True, False, True]
    with real_group(kafka.bootstrap_servers, group, script) as real:
        real.take(script[0])
        eventually(lambda: real.settled(("a",), PARTITIONS))
        real.members["a"].hold()
        eventually(lambda: real.state()[0] == "EMPTY")
        real.members["a"].release()
        eventually(lambda: real.settled(("a",), PARTITIONS))
        assert real.generations()[0] == expected


@pytest.mark.no_cover  # the model runs thousands of times, and coverage would take longer
@pytest.mark.parametrize(
    ("strategy", "in_any_order_the_same"),
    [("range", True), ("cooperative-failover", True), ("cooperative-weighted-sticky", False)],
)
def test_members_that_join_together_have_a_final_assignment_and_a_number_of_generations_of_the_model(
    kafka, topics, topic, group, member, strategy, in_any_order_the_same
):
    # The highest priority joins last, so failover must move everything.
    configs = [{"assignment.consumer.priority": str(place)} if "failover" in strategy else {} for place in range(4)]
    members = [member(f"m{place}", strategy, config=config) for place, config in enumerate(configs)]
    known = {topic: topics[topic]}
    ends, numbers = {}, set()
    for seed in range(SEEDS):
        timeline = simulate(known, *_together(members, random.Random(seed)))
        assert timeline.settled
        numbers.add(timeline.generations[-1].number)
        history, assignment = _history(modelled(timeline))
        assert ends.setdefault(history, assignment) == assignment  # the order of joins determines the assignment
    assert all(end == assignment for end in ends.values()) == in_any_order_the_same
    with real_group(kafka.bootstrap_servers, group, [Join(0, each) for each in members]) as real:
        for each in members:
            real.take(Join(0, each))
        real.rest(timeline, known)
        rows, _ = real.generations()
    assert {used for _, used, _ in rows} == {strategy}
    assert rows[-1][0] in numbers
    history, assignment = _history(rows)
    # On a slow machine the members may join as in none of the simulated ways.
    expected = next(iter(ends.values())) if in_any_order_the_same else ends[history]
    assert assignment == expected


def _history(rows):
    """The names of each generation's members, and the last generation's assignment."""
    return tuple(tuple(sorted(owned)) for _, _, owned in rows), rows[-1][2]


def _together(members, rnd):
    """The same members joining within seconds, in random or mostly given order, near to and far from the broker."""
    spread_ms, gap_ms = rnd.choice([1, 50, 500, 2_000]), rnd.choice([0, 50, 200])
    steps = [Join(place * gap_ms + rnd.randrange(spread_ms), each) for place, each in enumerate(members)]
    rnd.shuffle(steps)
    return steps, SimulationSettings(initial_rebalance_delay_ms=0, latency_ms=rnd.choice([0, 1, 5, 100]))
