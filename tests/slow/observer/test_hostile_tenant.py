"""A hostile tenant on a real broker: it is named, memory stays below the chart's limit, and others lose nothing."""

from __future__ import annotations

import pytest
from bench.observer.attack import ATTACKS
from bench.observer.hostile import beside

pytestmark = pytest.mark.slow

LIMIT_MIB = 512
"""Memory limit of the chart's observer."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("seed", "attack"), [(1, "absurd"), (2, "owners"), (3, "generations")])
def test_other_groups_lose_nothing_and_the_hostile_one_is_named(seed, attack):
    found = beside([attack], samples=60, seed=seed)
    assert found.missing == 0
    assert len(found.shown_ms) == 60, "each record of the timed group was shown"
    assert found.named == ["hostile"]
    assert found.peak_mib < LIMIT_MIB


@pytest.mark.timeout(900)
@pytest.mark.parametrize("attacks", [("events",), ("topics",), ("names",), ("gone",), ("parts",), tuple(ATTACKS)])
def test_other_groups_lose_nothing_and_memory_is_bounded(attacks):
    found = beside(attacks, samples=60, seed=1)
    assert found.missing == 0
    assert found.peak_mib < LIMIT_MIB
