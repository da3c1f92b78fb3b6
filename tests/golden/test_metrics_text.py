"""The exact text of /metrics: what a scraper stores must not change unnoticed.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes the files anew.
"""

import os
from pathlib import Path

import pytest

from support import pages
from support.scrapes import families, promtool_says

FOLDER = Path(__file__).parent
PAGES = {"metrics_of_groups.txt": pages.observer_groups, "metrics_of_members.txt": pages.sidecar_members}


@pytest.mark.parametrize("name", PAGES)
def test_the_text_of_metrics_is_the_golden_one(name):
    text, golden = PAGES[name](), FOLDER / name
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        golden.write_bytes(text)
    assert text.decode() == golden.read_text(encoding="utf-8")
    assert families(text)
    assert promtool_says(text) == ""
