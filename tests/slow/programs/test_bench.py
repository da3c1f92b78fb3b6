"""The long measurements run at the smallest size, to test their code and not their figures."""

from __future__ import annotations

import pytest

from support.runner.measuring import measured

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "rows"),
    [("start", 3), ("tail", 1), ("delay", 2), ("takeover", 2), ("gateway", 28), ("pushes", 2), ("harmless", 33)],
)
def test_a_measurement_prints_its_table(name, rows):
    assert len(measured(name)) == rows


@pytest.mark.timeout(900)
def test_growth_is_measured_for_all_growing_figures():
    """It starts many observers, one after the other."""
    assert len(measured("growth", scale="0.005", patience_s=900)) == 21


@pytest.mark.timeout(900)
def test_each_attack_is_replayed():
    """It starts many agents, three brokers and Spark."""
    assert len(measured("attacks-replayed", patience_s=900)) == 22
