"""Random groups that change to the consumer protocol: the broker does what `migrate` predicts."""

from __future__ import annotations

from collections import Counter

import pytest

from support.migration.random_migrations import run_seeds

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SEEDS = range(60)


def test_predictions_are_what_happens():
    results = []
    run_seeds(SEEDS, results.append)
    assert [result for result in results if not result["ok"]] == []
    refused = Counter(result["reason"] for result in results if not result["actual"])
    assert refused.total() >= 3 * len(SEEDS) // 10
