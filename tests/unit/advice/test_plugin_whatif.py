"""Strategies of other packages in the what-if: replayed like ours, and refused with the reason if they fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.advice import WhatIf, fidelity, history_of, merged, recommend, what_if
from rebalance_agent.assignors import STRATEGIES, Strategy
from rebalance_agent.assignors.strategies.range import ranges
from rebalance_agent.model.event_json import TEXT_MAX, value_from_json, value_to_json
from rebalance_agent.model.group import RebalanceProtocol
from support.assignors.plugin_site import Entry, declared
from support.assignors.walks import Walk
from support.tracker.histories import clustered, walked


def own(name="own", plan=ranges, **more):
    return Strategy(name, RebalanceProtocol.EAGER, "as range", plan, **{"cooperative_form": True, **more})


def outcomes(found):
    return {each.strategy: each for each in found.outcomes}


def test_a_plugin_strategy_is_replayed_like_ours_in_both_forms(monkeypatch):
    declared(monkeypatch, Entry("own", own()))
    found = outcomes(what_if(history_of(clustered(8))))
    assert found.keys() == {*STRATEGIES, "own", "cooperative-own"}
    assert found["own"].figures == found["range"].figures
    assert found["cooperative-own"].figures.moved == found["range"].figures.moved


def failing(_):
    raise RuntimeError("no idea")


def lossy(roster):
    return roster.empty_plan()


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (failing, "strategy 'own' of acme 1.0: plan raised RuntimeError: no idea"),
        (lossy, "strategy 'own' of acme 1.0: plan violates its contract: partition 0 of topic "),
    ],
)
def test_a_failing_plugin_strategy_is_refused_with_the_reason_and_the_others_are_replayed(monkeypatch, plan, reason):
    usual = what_if(history_of(clustered(8)))
    declared(monkeypatch, Entry("own", own(plan=plan)))
    found = what_if(history_of(clustered(8)))
    for name in ("own", "cooperative-own"):
        assert outcomes(found)[name].refused.startswith(reason)
    assert [each for each in found.outcomes if "own" not in each.strategy] == list(usual.outcomes)
    assert recommend(found).sentence == recommend(usual).sentence
    assert outcomes(merged([found, found]))["own"].refused.startswith(reason)


def endless(_):
    raise RuntimeError("x" * TEXT_MAX)


def test_a_refusal_fits_into_the_bound_of_stored_texts(monkeypatch):
    declared(monkeypatch, Entry("own", own(plan=endless)))
    found = what_if(history_of(clustered(8)))
    assert len(outcomes(found)["own"].refused) <= TEXT_MAX
    assert value_from_json(WhatIf, value_to_json(found)) == found


def test_decisions_of_a_plugin_strategy_are_replayed(monkeypatch):
    events = [replace(each, assignor="own") for each in walked(Walk(1, newest=True), STRATEGIES["range"], 6)]
    (line,) = fidelity(history_of(events)).lines
    assert (line.checked, line.reason) == (0, "its assignor is not a strategy of this library")
    declared(monkeypatch, Entry("own", own()))
    (line,) = fidelity(history_of(events)).lines
    assert line.checked == line.same_assignment > 0


def test_an_error_in_a_plugins_targets_stops_neither_replay_nor_comparison(monkeypatch):
    events = [replace(each, assignor="own") for each in clustered(8)]
    declared(monkeypatch, Entry("own", own(plan=STRATEGIES["sticky"].plan, promise=failing)))
    (line,) = fidelity(history_of(events)).lines
    assert (line.checked, line.same_assignment) == (4, 4)  # a strategy that repeats the decision needs no promise
    assert (line.not_comparable, line.reason) == (4, "the strategy rejects the recorded group")
    found = outcomes(what_if(history_of(events)))
    assert "promise raised RuntimeError: no idea" in found["own"].refused
    assert found["sticky"].refused is None


def test_a_plugin_strategy_that_promises_an_even_spread_is_recommended_like_ours(monkeypatch):
    declared(monkeypatch, Entry("own", own(plan=STRATEGIES["sticky"].plan, spread_rank=-1)))
    found = what_if(history_of(clustered(8)))
    assert recommend(found).strategy == "cooperative-own"
