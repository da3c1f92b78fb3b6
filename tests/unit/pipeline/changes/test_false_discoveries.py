"""The limit is that of Benjamini and Hochberg's procedure."""

from __future__ import annotations

from rebalance_agent.pipeline.changes.false_discoveries import highest_chance


def test_the_limit_rises_with_the_number_of_discoveries():
    assert highest_chance([0.004, 0.5], 10, 0.1) == 0.004
    assert highest_chance([0.011, 0.5], 10, 0.1) == 0
    # The second and the third make the first a discovery, too.
    assert highest_chance([0.029, 0.011, 0.012], 10, 0.1) == 0.029


def test_without_tests_nothing_is_discovered():
    assert highest_chance([], 0, 0.1) == 0
