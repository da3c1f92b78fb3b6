"""The table of `migrate`: recorded stalls, and those that are expected with the brokers' assignors."""

from __future__ import annotations

import pytest

from rebalance_agent.advice.figures import Figures, WhatIf
from rebalance_agent.advice.migration.broker_what_if import BrokerOutcome
from rebalance_agent.cli.screens.migrate_text import what_if_text
from rebalance_agent.model.group import RebalanceProtocol


def recorded_stalls(lower, upper, assignor="range"):
    """The figures of one recorded rebalance with these bounds of its stalls."""
    figures = Figures(generations=1, stalls=1, stalled_partition_seconds=lower)
    return WhatIf("c", "orders", assignor, RebalanceProtocol.EAGER, figures, figures, (), recorded_upper=upper)


def test_an_assignor_that_is_not_recorded_is_unknown():
    assert "the last assignor is unknown (recorded)" in what_if_text(recorded_stalls(0.0, None, assignor=None), [])


@pytest.mark.parametrize(
    ("lower", "upper", "shown"),
    [(2.0, 2.0, "2.0"), (0.2, 1.4, "0.2 - 1.4"), (0.0, 1.4, "up to 1.4"), (0.2, None, "0.2 or more")],
)
def test_recorded_stalls_have_both_bounds(lower, upper, shown):
    text = what_if_text(recorded_stalls(lower, upper), [BrokerOutcome("uniform", Figures())])
    (row,) = [line for line in text.splitlines() if line.startswith("range (recorded)")]
    assert row.endswith(f"  {shown}")


@pytest.mark.parametrize(("upper", "warned"), [(1.9, True), (2.0, False), (None, False)])
def test_only_stalls_that_are_surely_longer_than_recorded_are_named(upper, warned):
    expected = Figures(generations=1, stalls=1, stalled_partition_seconds=2.0)
    outcomes = [BrokerOutcome("uniform", expected, 4.0), BrokerOutcome("x", refused="no model")]
    text = what_if_text(recorded_stalls(1.0, upper), outcomes)
    assert ("With uniform, stalls are expected to be longer than the recorded ones." in text) is warned
