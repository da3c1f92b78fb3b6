"""Sticky strategies compared with an exact optimum, on groups with random changes.

``REBALANCE_WALKS`` is the number of walks of each strategy; the default is for every change, use thousands for changes
of the algorithms.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from support.assignors.optimum import optimum, squares_and_moves
from support.assignors.rules import check, valid_owners
from support.assignors.walks import Walk
from support.examples import examples

WALKS = int(os.environ.get("REBALANCE_WALKS", "45"))
STEPS = 8


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky", "weighted-sticky"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(WALKS))
def test_no_better_balance_and_no_fewer_moves_are_possible(name, seed):
    strategy = STRATEGIES[name]
    for stop in Walk(seed).stops(strategy, STEPS):
        check(strategy, stop.truth, stop.assignment)
        owners = valid_owners(stop.truth)
        reached = squares_and_moves(stop.truth, owners, stop.assignment.target)
        assert reached == optimum(stop.truth, owners)
        quality = judge(stop.reported, stop.assignment, strategy)
        assert (quality.imbalance, quality.moved, quality.moved_min) == (0, reached[1], reached[1])
