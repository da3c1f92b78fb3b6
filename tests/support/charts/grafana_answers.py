"""Data frames of Grafana's Prometheus datasource as JSON, for `tests/dashboards/apply.mjs`."""

from __future__ import annotations

import math
import re
from typing import Any

from support.charts.boards import filled, panels
from support.charts.live_prometheus import Live, Series

PICTURE_STEP = 6.0
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def answers(live: Live, board: dict[str, Any], group: str) -> dict[str, list[dict[str, Any]]]:
    """Panel id -> frames of all its targets."""
    return {
        str(panel["id"]): [frame for target in panel["targets"] for frame in _frames(live, panel, target, group)]
        for panel in panels(board)
    }


def _frames(live: Live, panel: dict[str, Any], target: dict[str, Any], group: str) -> list[dict[str, Any]]:
    step = PICTURE_STEP if panel.get("interval") else 2.0  # a point per minute would be too few for a run of a minute
    expression = filled(target["expr"], live.seconds, step, group)
    asked = live.prometheus
    if target["range"]:
        found = asked.over(expression, live.began, live.ended, step)
    else:
        found = asked.at(expression, live.ended)
    if target.get("format") == "table":
        return [_table(found, target["refId"], len(panel["targets"]) > 1)] if found else []
    return [_series(each, target) for each in found]


def _table(found: list[Series], name: str, several: bool) -> dict[str, Any]:
    labels = sorted({label for each in found for label in each.labels})
    columns = [{"name": "Time", "type": "time", "values": [_milliseconds(each.points[-1][0]) for each in found]}]
    columns += [
        {"name": label, "type": "string", "values": [each.labels.get(label, "") for each in found]} for label in labels
    ]
    value = f"Value #{name}" if several else "Value"
    columns.append({"name": value, "type": "number", "values": [_number(each.value) for each in found]})
    return {"refId": name, "fields": columns}


def _series(each: Series, target: dict[str, Any]) -> dict[str, Any]:
    legend = LEGEND.sub(lambda label: each.labels.get(label[1], ""), target.get("legendFormat", ""))
    return {
        "refId": target["refId"],
        "name": legend,
        "fields": [
            {"name": "Time", "type": "time", "values": [_milliseconds(at) for at, _ in each.points]},
            {
                "name": "Value",
                "type": "number",
                "labels": each.labels,
                "config": {"displayNameFromDS": legend} if legend else {},
                "values": [_number(value) for _, value in each.points],
            },
        ],
    }


def _milliseconds(at: float) -> int:
    return round(at * 1000)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
