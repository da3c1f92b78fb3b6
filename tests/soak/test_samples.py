"""The conditions under which a sample of an observer counts."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from rebalance_agent.clock import SystemClock
from soak.samples import sampled


def watching(page):
    return SimpleNamespace(
        process=SimpleNamespace(pid=os.getpid()),
        metrics=lambda: page,
        cpu_seconds=lambda: 1.0,
        rss_mib=lambda: 70.0,
    )


def test_a_sample_measures_the_page():
    page = "# HELP kafka_rebalance_members x\n" * 100
    assert sampled(watching(page), SystemClock(), 0.0, (0.0, 0.0)).scrape_mib == len(page) / 2**20


@pytest.mark.parametrize("page", ["", "503 too many at once"])
def test_a_response_without_metrics_is_no_sample(page):
    with pytest.raises(SystemExit, match="did not answer a scrape"):
        sampled(watching(page), SystemClock(), 0.0, (0.0, 0.0))
