"""The drawn pictures of boards: one time axis for all panels, and legends in Grafana's order."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from support.charts.board_picture import picture

MINUTE_MS = 60_000


def field(name, numbers):
    cells = [{"text": str(number), "color": "green"} for number in numbers]
    return {"name": name, "type": "number", "numbers": numbers, "values": cells}


def frame(name, first, numbers):
    times = [(first + index) * MINUTE_MS for index in range(len(numbers))]
    return {"fields": [{"name": "Time", "type": "time", "numbers": times, "values": times}, field(name, numbers)]}


def panel(title, kind, x, style="line", order="table"):
    legend = {"displayMode": order, "sortBy": "Max", "sortDesc": True}
    return {
        "title": title,
        "type": kind,
        "gridPos": {"x": x, "y": 0, "w": 8, "h": 8},
        "options": {"legend": legend},
        "fieldConfig": {"defaults": {"noValue": "none", "custom": {"drawStyle": style}}},
    }


PANELS = (
    panel("lines", "timeseries", 0),
    panel("bars", "timeseries", 8, "bars"),
    panel("states", "state-timeline", 16),
)
SHOWN = {
    "lines": [frame("low", 0, [1, 1, 1]), frame("high", 0, [1, 9, 1])],
    "bars": [frame("short", 2, [3]), frame("long", 0, [1, 2])],
    "states": [frame("state", 1, [1, 2])],
}


def texts(panels):
    """Title -> (text, x) of all texts of the panel."""
    drawn = ET.fromstring(picture({"title": "t", "description": "d", "panels": panels}, SHOWN))
    groups = [
        [(each.text, each.get("x")) for each in group.iter("{http://www.w3.org/2000/svg}text")]
        for group in drawn.iter("{http://www.w3.org/2000/svg}g")
    ]
    return {found[0][0]: found for found in groups}


def test_all_panels_over_time_have_the_same_axis():
    axes = [[each for each in found if each[0].count(":") == 2] for found in texts(PANELS).values()]
    assert [text for text, _ in axes[0]] == ["00:00:00", "00:01:00", "00:02:00"]
    assert axes == [axes[0]] * 3, "also where the first or the last points have no value"


def test_a_legend_that_is_a_table_begins_with_the_highest():
    assert [text for text, _ in texts(PANELS)["lines"] if text in {"low", "high"}] == ["high", "low"]
    listed = texts([panel("lines", "timeseries", 0, order="list"), *PANELS[1:]])
    assert [text for text, _ in listed["lines"] if text in {"low", "high"}] == ["low", "high"]
