"""Every strategy has a page with its settings and a current picture."""

import sys
from pathlib import Path

import pytest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX

DOCS = Path(__file__).parents[3] / "docs"
NAMES = sorted({name.removeprefix(COOPERATIVE_PREFIX) for name in STRATEGIES})

sys.path.insert(0, str(DOCS / "developers" / "pictures"))
from draw import IMAGES, PICTURED_GROUPS, picture  # noqa: E402 - scripts of the documentation


@pytest.mark.parametrize("name", NAMES)
def test_each_strategy_has_a_page_with_its_picture_and_settings(name):
    page = (DOCS / "strategies" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# `{name}`\n")
    assert f"(../images/strategies/{name}.svg)" in page
    for setting in STRATEGIES[name].config:
        assert f"`{setting.name}`" in page
    if COOPERATIVE_PREFIX + name in STRATEGIES:
        assert f"`{COOPERATIVE_PREFIX}{name}`" in page


def test_the_index_names_every_page_and_no_other():
    index = (DOCS / "strategies" / "README.md").read_text(encoding="utf-8")
    pages = {page.stem for page in (DOCS / "strategies").glob("*.md")} - {"README"}
    assert pages == set(NAMES)
    assert all(f"[`{name}`]({name}.md)" in index for name in NAMES)


@pytest.mark.parametrize("group", PICTURED_GROUPS, ids=lambda group: group.strategy)
def test_pictures_are_current(group):
    assert (IMAGES / f"{group.strategy}.svg").read_text(encoding="utf-8") == picture(group), "run: make docs"


def test_every_strategy_is_drawn():
    assert {group.strategy for group in PICTURED_GROUPS} >= set(NAMES)
