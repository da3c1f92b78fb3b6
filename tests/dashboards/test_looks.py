"""Layout and readability: widths, titles, units, legends, states, colours, annotations."""

from __future__ import annotations

import re

import pytest
from dashboards.parts.query import labels_of

from rebalance_agent.metrics.catalogue import BY_NAME
from rebalance_agent.ui.sentences.group_table import WatchRow
from support.charts.boards import boards, panels

COMMITTED = boards()
ALL = pytest.mark.parametrize("uid", sorted(COMMITTED))

BOARD_PIXELS = 1240
"""Width of a board in a window of 1600 pixels, beside Grafana's menu."""

EDGES_PIXELS = 16
"""Pixels of a panel left and right of its content."""

CHARACTER_PIXELS = 7.6
"""Mean width of a character of titles and headings, rounded up."""

BESIDE_TITLE_PIXELS = 112
"""Pixels beside a title for the description's icon, the menu and margins."""

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
    return [panel for board in COMMITTED.values() for panel in panels(board) if panel["type"] == "table"]


@pytest.mark.parametrize("panel", tables(), ids=lambda panel: panel["title"])
def test_a_table_fits_beside_the_menu(panel):
    assert sum(each or AUTOMATIC_PIXELS for each in columns(panel).values()) <= width(panel) - EDGES_PIXELS


@pytest.mark.parametrize("panel", tables(), ids=lambda panel: panel["title"])
def test_headings_fit_their_columns(panel):
    assert not panel["fieldConfig"]["defaults"].get("custom", {}).get("filterable"), (
        "a filter icon needs space in the heading"
    )
    for heading, given in columns(panel).items():
        assert len(heading) * CHARACTER_PIXELS + BESIDE_HEADING_PIXELS <= (given or AUTOMATIC_PIXELS), heading


@ALL
def test_titles_fit_their_panels(uid):
    for panel in panels(COMMITTED[uid]):
        assert len(panel["title"]) * CHARACTER_PIXELS <= width(panel) - BESIDE_TITLE_PIXELS, panel["title"]


@ALL
def test_counts_are_not_rounded_to_thousands(uid):
    for panel in panels(COMMITTED[uid]):
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
    for panel in panels(COMMITTED[uid]):
        legend = panel["options"].get("legend", {})
        if legend.get("displayMode") == "table":
            assert "max" in legend["calcs"], panel["title"]
            assert (legend["sortBy"], legend["sortDesc"]) == ("Max", True), panel["title"]


@ALL
def test_timelines_show_the_text_of_each_value(uid):
    """Grafana joins values by threshold and ignores mappings if colours come from thresholds."""
    for panel in panels(COMMITTED[uid]):
        if panel["type"] == "state-timeline":
            defaults = panel["fieldConfig"]["defaults"]
            assert panel["options"]["mergeValues"]
            assert defaults["color"]["mode"] == "palette-classic", panel["title"]
            (mapping,) = defaults["mappings"]
            assert all(each["text"] and each["color"] for each in mapping["options"].values())


LIMITED = {
    "kafka_rebalance_slowest_member_seconds": "at most five members",
    "kafka_rebalance_topic_spread_ratio": "at most top_topics",
    "kafka_rebalance_topic_lag_seconds": "at most max_lag_topics",
    "rebalance_agent_group_over_budget": "at most 40",
    "kafka_rebalance_owner_partitions": "a stack of all partitions of the group; its members by max_member_series",
}
"""Metrics of which all series are drawn, and why they are not too many."""

MANY = {"consumergroup", "client_id", "host", "topic", "instance"}
"""Labels with any number of values."""


def names_of(uid, target):
    """The labels in a legend that have any number of values on this board."""
    return set(labels_of(target.get("legendFormat", ""))) & (
        MANY - ({"consumergroup"} if uid == "rebalance-group" else set())
    )


@ALL
def test_of_groups_members_and_topics_the_worst_are_drawn_and_listed_first(uid):
    for panel in panels(COMMITTED[uid]):
        if panel["type"] != "timeseries":
            continue
        for target in panel["targets"]:
            named, expression = names_of(uid, target), target["expr"]
            if named:
                assert panel["options"]["legend"]["displayMode"] == "table", panel["title"]
            if named - {"instance"} and not any(metric in expression for metric in LIMITED):
                assert "topk(" in expression or expression.endswith(" > 0"), panel["title"]


@ALL
def test_all_panels_of_a_board_have_its_time_axis(uid):
    for panel in panels(COMMITTED[uid]):
        assert not {"timeFrom", "timeShift", "hideTimeOverride"} & set(panel), panel["title"]
        assert panel["fieldConfig"]["defaults"].get("custom", {}).get("axisPlacement") != "hidden", panel["title"]


def test_a_group_without_members_has_the_colour_of_a_warning():
    """Blue is neutral, and a group that had members and has none hurts."""
    (timeline,) = (each for each in panels(COMMITTED["rebalance-group"]) if each["title"] == "State")
    (mapping,) = timeline["fieldConfig"]["defaults"]["mappings"]
    (on_board,) = (each["color"] for each in mapping["options"].values() if each["text"] == "Empty")
    (_, in_watch) = WatchRow("orders", ("orders", "Empty"), running=False).styles
    assert on_board == in_watch == "yellow"


def test_critical_alerts_are_on_top():
    """By name, critical is before warning."""
    shown = [each for board in COMMITTED.values() for each in panels(board) if each["title"] == "Firing alerts"]
    assert len(shown) == 2
    for panel in shown:
        assert panel["options"]["sortBy"][0] == {"displayName": "Severity", "desc": False}
        assert all('severity!="info"' in target["expr"] for target in panel["targets"])


def colours(panel):
    """Name in the legend -> fixed colour."""
    return {
        override["matcher"]["options"]: looks["value"]["fixedColor"]
        for override in panel["fieldConfig"]["overrides"]
        for looks in override["properties"]
        if looks["id"] == "color" and "fixedColor" in looks["value"]
    }


@pytest.mark.parametrize(
    ("label", "metric", "on"),
    [
        ("trigger", "kafka_rebalance_completed_total", {"rebalance-fleet", "rebalance-service", "rebalance-group"}),
        ("reason", "kafka_rebalance_failed_total", {"rebalance-fleet", "rebalance-group"}),
    ],
)
def test_each_value_of_a_closed_label_has_its_own_colour(label, metric, on):
    """Without one it gets a colour of Grafana's palette, which other values have."""
    shown = set()
    for uid, board in COMMITTED.items():
        for panel in panels(board):
            legends = {target.get("legendFormat") for target in panel["targets"] if metric in target["expr"]}
            if f"{{{{{label}}}}}" in legends:
                fixed = colours(panel)
                assert set(BY_NAME[metric].values[label]) <= set(fixed), panel["title"]
                assert len(set(fixed.values())) == len(fixed), panel["title"]
                shown.add(uid)
    assert shown == on


def possible_names(target):
    """All names that a legend can have; none if a label has any number of values."""
    legend = target.get("legendFormat", "")
    names = {legend}
    for label in labels_of(legend):
        metrics = [BY_NAME[metric] for metric in METRIC.findall(target["expr"]) if metric in BY_NAME]
        values = {value for metric in metrics for value in metric.values.get(label, ())}
        names = {name.replace(f"{{{{{label}}}}}", value) for name in names for value in values}
    return names


METRIC = re.compile(r"\bkafka_rebalance_\w+")


@ALL
def test_where_colours_have_a_meaning_each_series_has_one_of_its_own(uid):
    """A series without one gets a colour of Grafana's palette, which another may have."""
    for panel in panels(COMMITTED[uid]):
        if fixed := colours(panel):
            names = set().union(*map(possible_names, panel["targets"]))
            assert names <= set(fixed), panel["title"]
            assert len({fixed[name] for name in names}) == len(names), panel["title"]


def test_a_name_has_the_same_colour_on_all_boards():
    everywhere = {}
    for uid, board in COMMITTED.items():
        for panel in panels(board):
            for name, colour in colours(panel).items():
                assert everywhere.setdefault(name, colour) == colour, f"{uid}: {panel['title']}: {name}"
    assert everywhere["member_failed"] != everywhere["member_left"]


def test_stacked_areas_have_no_outline():
    """The outline of a stack has the colour of its last series, and spikes consist only of the outline."""
    areas = 0
    for board in COMMITTED.values():
        for panel in panels(board):
            custom = panel["fieldConfig"]["defaults"].get("custom", {})
            if custom.get("stacking", {}).get("mode") == "normal" and custom["drawStyle"] == "line":
                assert (custom["lineWidth"], custom["fillOpacity"]) == (0, 80), panel["title"]
                areas += 1
    assert areas >= 3


@ALL
def test_marks_of_each_rebalance_are_off_at_first(uid):
    """Marks of a permanently rebalancing group would cover every panel."""
    for annotation in COMMITTED[uid]["annotations"]["list"]:
        assert not (annotation["enable"] and annotation["useValueForTime"]), annotation["name"]
