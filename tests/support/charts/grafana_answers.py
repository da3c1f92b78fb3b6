"""What panels show: data frames of Grafana's Prometheus datasource, processed by Grafana's functions (`apply.mjs`)."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from support.charts.boards import ROOT, filled, panels
from support.charts.live_prometheus import Live, Series
from support.runner.node import packages, program

PICTURE_STEP = 6.0
"""Seconds between two bars: the boards' minutes would be too long for a run of a minute."""

NODE_SECONDS_MAX = 120
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def shown(
    boards: dict[str, Any], answered: dict[str, dict[str, list[dict[str, Any]]]], folder: Path
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Uid -> panel's title -> its frames, by Grafana's own functions; ``answered``: uid -> panel id -> frames.

    ``folder`` is for the files between the programs.
    """
    for name, document in (("boards", boards), ("answers", answered)):
        (folder / f"{name}.json").write_text(json.dumps(document))
    script = str(ROOT / "tests" / "dashboards" / "apply.mjs")
    paths = [str(folder / f"{name}.json") for name in ("boards", "answers", "shown")]
    done = program("node", script, *paths, folder=packages(), seconds=NODE_SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[dict[str, Any]]]] = json.loads((folder / "shown.json").read_text())
    return found


def answers(
    live: Live, board: dict[str, Any], group: str, step: float = PICTURE_STEP
) -> dict[str, list[dict[str, Any]]]:
    """Panel id -> frames of all its targets. ``step``: seconds between two bars."""
    return {
        str(panel["id"]): [frame for target in panel["targets"] for frame in _frames(live, panel, target, group, step)]
        for panel in panels(board)
    }


def _frames(live: Live, panel: dict[str, Any], target: dict[str, Any], group: str, bars: float) -> list[dict[str, Any]]:
    step = bars if panel.get("interval") else 2.0  # a point per minute would be too few for a run of a minute
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
