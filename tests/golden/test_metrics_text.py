"""The exact text of /metrics, because changes of stored series must be deliberate.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes the files.
"""

import os
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.traces.span import trace_id
from support.observer import pages
from support.observer.scrapes import families, promtool_says

FOLDER = Path(__file__).parent
PAGES = {"metrics_of_groups.txt": pages.observer_groups, "metrics_of_members.txt": pages.sidecar_members}


def _golden(name, text):
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        (FOLDER / name).write_bytes(text)
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_text_of_metrics_is_the_golden_one(name):
    text = PAGES[name]()
    assert text.decode() == _golden(name, text)
    assert families(text)
    assert promtool_says(text) == ""


def test_openmetrics_of_groups_are_the_golden_ones():
    text = pages.observer_groups(Dialect.OPENMETRICS) + Dialect.OPENMETRICS.end
    assert text.decode() == _golden("openmetrics_of_groups.txt", text)
    exemplars = [
        sample.exemplar.labels
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if sample.exemplar
    ]
    assert exemplars == [{"event_id": "0" * 32, "trace_id": trace_id("cluster", "orders", 2)}]
