"""What is beside a change: a deploy shortly before, and what is different from before it."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.pipeline.changes.beside import Beside, State, beside
from rebalance_agent.pipeline.changes.change_points import ChangePoint
from rebalance_agent.pipeline.changes.group_signals import Signal
from rebalance_agent.pipeline.changes.sentences import change_sentence

HOUR_MS = 3_600_000
USUAL = State(0, "eager", "range", 4, 12)
AT = 1_000


def state(hour, **fields):
    return replace(USUAL, at_ms=int(hour * HOUR_MS), **fields)


def test_a_deploy_and_its_image_are_beside_a_change():
    deploy = state(AT - 1, rollout="r2", images="app:2")
    states = [state(5, rollout="r1", images="app:1"), state(AT - 2, rollout="r2"), deploy, state(AT + 40, members=9)]
    assert beside(states, AT) == Beside("r2", (AT - 2) * HOUR_MS, {"image": "app:1 -> app:2"})


def test_changes_of_the_group_are_beside_a_change():
    states = [state(5), state(AT, protocol="cooperative", assignor="sticky", members=6, partitions=24)]
    assert beside(states, AT).changed == {
        "protocol": "eager -> cooperative",
        "assignor": "range -> sticky",
        "members": "4 -> 6",
        "partitions": "12 -> 24",
    }


def test_members_that_come_back_and_changes_long_before_are_not_beside_it():
    states = [state(5, assignor="sticky"), state(900), state(AT, members=3), state(AT + 1), state(AT + 40, members=7)]
    assert beside(states, AT) == Beside()
    assert beside([state(AT + 5)], AT) == Beside()


def test_a_sentence_says_what_changed_and_what_is_beside_it():
    change = ChangePoint(Signal.STALL, 494_654, 2.1, 4.3, 1e-6)
    said = change_sentence(change, Beside("r", 494_653 * HOUR_MS, {"image": "app:2"}))
    assert said == (
        "Stall per rebalance doubled on 6 Jun 14:00 (2.1 s -> 4.3 s), one hour after a rollout began; image: app:2."
    )
    less = replace(change, signal=Signal.FREQUENCY, after=1.26)
    assert (
        change_sentence(less, Beside())
        == "Frequency of rebalances fell by 40% on 6 Jun 14:00 (2.1 a day -> 1.3 a day)."
    )
    back = replace(change, signal=Signal.SKEW, after=1.26, recovery=True)
    assert change_sentence(back, Beside()) == "Skew recovered on 6 Jun 14:00 (2.10 -> 1.26)."
    assert "rose by a factor of 3.0" in change_sentence(replace(change, after=6.3), Beside())
