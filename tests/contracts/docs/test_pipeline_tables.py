"""docs/pipeline-tables.md names every table of the pipeline with exactly its columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rebalance_agent.model.baseline import GroupBaseline, HourBaseline, baseline_from_json
from rebalance_agent.pipeline.tables.schemas import TABLES

PAGE = (Path(__file__).parents[3] / "docs" / "pipeline-tables.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_every_table_has_its_section():
    assert SECTIONS.keys() == TABLES.keys()


@pytest.mark.parametrize("name", TABLES)
def test_a_section_names_the_columns_of_its_table(name):
    table = re.search(r"\| column \| meaning \|\n\| --- \| --- \|\n((?:\|.*\n)+)", SECTIONS[name])[1]
    named = [column for row in table.splitlines() for column in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(TABLES[name].schema.names)


def test_the_shown_message_is_valid():
    [text] = re.findall(r"```json\n(.*?)```", SECTIONS["baselines"], re.DOTALL)
    baseline = baseline_from_json(text.encode())
    assert isinstance(baseline, GroupBaseline)
    assert [type(hour) for hour in baseline.hours] == [HourBaseline]
