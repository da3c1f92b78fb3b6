from rebalance_agent.advice import fidelity, history_of, recommend, what_if
from rebalance_agent.cli.screens.whatif_text import text
from rebalance_agent.model.subscription import MemberSubscription
from support.tracker.histories import generation, snapshot


def decided(number, assignor):
    members = [
        snapshot(MemberSubscription("a", ("t",)), {"t": (0, 1)}),
        snapshot(MemberSubscription("b", ("t",)), {"t": (2, 3)}),
    ]
    return generation(number, members, {"t": 4}, assignor=assignor)


def test_decisions_before_the_last_change_of_assignor_are_marked():
    history = history_of(decided(number, name) for number, name in enumerate(("mine", "range", "range", "sticky"), 1))
    found = what_if(history)
    lines = " ".join(text(found, fidelity(history), recommend(found), "a file").split())
    assert ": 1 rebalance replayed, from a file." in lines
    assert "1 recorded assignment of mine (assigned by another client, before the last change of assignor)" in lines
    assert "repeats 2 of 2 recorded assignments of range (before the last change of assignor)." in lines
    assert "assignments of sticky (" not in lines
