"""What fits on the screen, and what people read there: widths, titles, units, legends."""

from __future__ import annotations

import pytest

from support.charts.boards import boards

COMMITTED = boards()
ALL = pytest.mark.parametrize("uid", sorted(COMMITTED))

BOARD_PIXELS = 1240
"""Width of a board in a window of 1600 pixels, beside Grafana's menu."""

EDGES_PIXELS = 16
"""Of a panel, left and right of its content."""

CHARACTER_PIXELS = 7.6
"""Mean width of a character of titles and headings, rounded up."""

BESIDE_TITLE_PIXELS = 112
"""What Grafana keeps free beside a title: the mark of the description, the menu, and edges."""

BESIDE_HEADING_PIXELS = 16
AUTOMATIC_PIXELS = 150
"""The least width that Grafana gives a column without a width."""


def width(panel):
    """Pixels of a panel."""
    return BOARD_PIXELS * panel["gridPos"]["w"] / 24


def columns(panel):
    """Heading -> width in pixels, or none."""
    found = dict.fromkeys(panel["transformations"][-1]["options"]["renameByName"].values())
    for override in panel["fieldConfig"]["overrides"]:
        for looks in override["properties"]:
            if looks["id"] == "custom.width":
                found[override["matcher"]["options"]] = looks["value"]
    return found


def tables():
    """All tables of all boards."""
    return [panel for board in COMMITTED.values() for panel in board["panels"] if panel["type"] == "table"]


@pytest.mark.parametrize("panel", tables(), ids=lambda panel: panel["title"])
def test_a_table_fits_beside_the_menu(panel):
    assert sum(each or AUTOMATIC_PIXELS for each in columns(panel).values()) <= width(panel) - EDGES_PIXELS


@pytest.mark.parametrize("panel", tables(), ids=lambda panel: panel["title"])
def test_headings_fit_their_columns(panel):
    assert not panel["fieldConfig"]["defaults"].get("custom", {}).get("filterable"), "a filter takes the heading's room"
    for heading, given in columns(panel).items():
        assert len(heading) * CHARACTER_PIXELS + BESIDE_HEADING_PIXELS <= (given or AUTOMATIC_PIXELS), heading


@ALL
def test_titles_fit_their_panels(uid):
    for panel in COMMITTED[uid]["panels"]:
        assert len(panel["title"]) * CHARACTER_PIXELS <= width(panel) - BESIDE_TITLE_PIXELS, panel["title"]


@ALL
def test_counts_are_not_rounded_to_thousands(uid):
    for panel in COMMITTED[uid]["panels"]:
        config = panel["fieldConfig"]
        units = [config["defaults"]["unit"]]
        units += [
            looks["value"]
            for override in config["overrides"]
            for looks in override["properties"]
            if looks["id"] == "unit"
        ]
        assert "short" not in units, f"{panel['title']}: 1,049 would be 1 K"


@ALL
def test_legends_with_few_visible_rows_begin_with_the_highest(uid):
    for panel in COMMITTED[uid]["panels"]:
        legend = panel["options"].get("legend", {})
        if legend.get("displayMode") == "table":
            assert "max" in legend["calcs"], panel["title"]
            assert (legend["sortBy"], legend["sortDesc"]) == ("Max", True), panel["title"]
