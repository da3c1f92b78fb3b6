"""The formulas of `advice.replay.predicted_stalls` give the stalls of the coordinator model."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_agent.advice.replay.move_counts import count_moves
from rebalance_agent.advice.replay.predicted_stalls import Behaviour, predict_stall
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation import Crash, Join, SimulatedMember, SimulationSettings, simulate

AT_MS = 100_000
SESSION_S = 45.0
SETTINGS = SimulationSettings(initial_rebalance_delay_ms=0)

MEMBERS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3_000)), min_size=1, max_size=5)
"""For each member its time between polls, in units of 500 ms, and the duration of its revoked callback."""


def simulated(strategy, members, partitions, change):
    """The effect of ``change``: the timeline, and the generations before and after it."""
    specs = [
        SimulatedMember(
            f"m{place}", ("t",), (strategy,), processing_ms=500 * units, revoked_ms=pause, heartbeat_interval_ms=1
        )
        for place, (units, pause) in enumerate(members)
    ]
    # All join at once, so they are one generation, and their polls are at multiples of their times since then.
    timeline = simulate({"t": TopicMetadata(partitions)}, [*(Join(0, each) for each in specs), change], SETTINGS)
    earlier = [each for each in timeline.generations if each.start_ms < AT_MS][-1]
    return timeline, earlier, timeline.generations[-1]


def by_name(generation):
    return {name: generation.of(name) for name in generation.names}


def check(strategy, members, partitions, change, expired=()):
    timeline, earlier, last = simulated(strategy, members, partitions, change)
    first = next(each for each in timeline.generations if each.start_ms >= AT_MS)
    begun = earlier.synced_ms
    behaviour = Behaviour(
        join=(first.joined_ms - first.start_ms) / 1000,
        sync=0.0,
        # A member notices at once, and stops at its next poll.
        stops={
            f"m{place}": (-(first.start_ms - begun) % (500 * units)) / 1000 for place, (units, _) in enumerate(members)
        },
        pauses={f"m{place}": pause / 1000 for place, (_, pause) in enumerate(members)},
        follow=(last.synced_ms - first.synced_ms) / 1000 if last is not first else None,
        expired=dict(expired),
    )
    stalled = sum(
        (stall.resumed_ms - stall.stopped_ms) * count_partitions(stall.partitions) / 1000
        for stall in timeline.stalls
        if stall.stopped_ms >= AT_MS and stall.resumed_ms is not None
    )
    given_away = count_moves(by_name(earlier), by_name(last))
    # The model's heartbeats are a millisecond apart.
    assert predict_stall(behaviour, given_away, STRATEGIES[strategy].protocol) == pytest.approx(stalled, abs=0.2)


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky", "roundrobin"])
@given(members=MEMBERS, partitions=st.integers(1, 12))
def test_stalls_of_a_join_are_predicted(strategy, members, partitions):
    check(strategy, members, partitions, Join(AT_MS, SimulatedMember("new", ("t",), (strategy,))))


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky", "roundrobin"])
@given(members=MEMBERS, partitions=st.integers(1, 12))
@example(members=[(1, 0), (1, 0), (3, 0)], partitions=2)  # the group also waits for members without partitions
def test_stalls_of_a_crash_are_predicted(strategy, members, partitions):
    if len(members) > 1:
        check(strategy, members, partitions, Crash(AT_MS, "m0"), {"m0": SESSION_S})
