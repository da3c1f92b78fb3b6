"""docs/offsets-topic.md lists exactly the record kinds of the tables, and only existing metrics."""

from __future__ import annotations

import re
from pathlib import Path

from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.metrics.catalogue import BY_NAME

PAGE = (Path(__file__).parents[3] / "docs" / "offsets-topic.md").read_text(encoding="utf-8")


def test_the_kinds_are_those_of_the_tables():
    rows = re.findall(r"^\| ([0-9, ]+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    listed = {int(version): kind for versions, kind in rows for version in versions.split(",")}
    assert listed == {version: table.kind for version, table in RECORDS.items()}


def test_counters_on_the_page_are_in_the_catalogue():
    named = re.findall(r"`(rebalance_agent_\w+)(?:\{(\w+)=\"(\w+)\"\})?`", PAGE)
    assert len(named) >= 4
    for name, label, value in named:
        assert name in BY_NAME
        assert not label or value in BY_NAME[name].values[label]
