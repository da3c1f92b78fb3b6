"""A script that runs in parts gives the same result as in one run."""

from __future__ import annotations

from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation import (
    Crash,
    Join,
    Leave,
    SimulatedMember,
    Simulation,
    SimulationSettings,
    simulate,
)

TOPICS = {"t": TopicMetadata(6)}
SETTINGS = SimulationSettings(latency_ms=2, patience_ms=120_000)


def member(name):
    return SimulatedMember(name, ("t",), ("range",), session_timeout_ms=10_000)


SCRIPT = [
    *(Join(number * 1_000, member(f"m{number}")) for number in range(3)),
    Crash(60_000, "m1"),
    Join(62_000, member("m1")),
    Leave(100_000, "m2"),
]


def test_a_script_in_parts_gives_the_result_of_the_whole():
    whole = simulate(TOPICS, SCRIPT, SETTINGS)
    simulation, pieces = Simulation(TOPICS, SETTINGS), []
    for until_ms in range(5_000, 225_000, 5_000):
        steps = [step for step in SCRIPT if until_ms - 5_000 <= step.at_ms < until_ms]
        pieces.append(simulation.play(steps, until_ms - 1, ends=until_ms == 220_000))
    for kind in ("generations", "aborted", "stalls", "handovers", "states", "replacements", "refusals"):
        assert tuple(each for piece in pieces for each in getattr(piece, kind)) == getattr(whole, kind)
    assert len(whole.generations) == 3


def test_a_generation_has_the_subscriptions_of_its_members():
    first, *_, last = simulate(TOPICS, SCRIPT, SETTINGS).generations
    assert first.subscriptions.keys() == first.members.keys()
    assert all(each.topics == ("t",) for each in last.subscriptions.values())
    assert all(not each.owned for each in first.subscriptions.values())
    assert any(each.owned for each in last.subscriptions.values())
