"""The queries of the committed boards, with variables replaced as Grafana does."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "dashboards" / "json"

BUILT_IN = {
    "__range",
    "__interval_ms",
    "__rate_interval",
    "__rate_interval_ms",
    "__url_time_range",
    "__data",
    "__field",
}
VARIABLE = re.compile(r"\$(?:\{(\w+)(?:[.:][\w.:]+)*\}|(\w+))")
INTERVAL = {"s": 1, "m": 60}


def boards() -> dict[str, dict[str, Any]]:
    """Uid -> committed board."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """The panels of a board, without its headings."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def variables_in(text: str) -> set[str]:
    """The names of all variables in a text."""
    return {braced or bare for braced, bare in VARIABLE.findall(text)}


@dataclass(frozen=True)
class Question:
    """One query of a panel. ``step``: the panel's minimum interval of points, in seconds."""

    board: str
    panel: str
    target: str
    expression: str
    now: bool
    step: float

    def __str__(self) -> str:
        return f"{self.board}: {self.panel} {self.target}"


def questions(uid: str, board: dict[str, Any]) -> Iterator[Question]:
    """All queries of all panels."""
    for panel in panels(board):
        interval = panel.get("interval", "0s")
        step = float(interval[:-1]) * INTERVAL[interval[-1]]
        for target in panel["targets"]:
            yield Question(uid, panel["title"], target["refId"], target["expr"], target.get("instant", False), step)


def put_in(expression: str, values: dict[str, str]) -> str:
    """The expression with values for its variables; a variable without a value is an error."""
    return VARIABLE.sub(lambda found: values[found[1] or found[2]], expression)


def filled(
    expression: str, seconds: float, step: float, group: str = ".+", across: str = "sum", scrape: float = 2
) -> str:
    """The query for Prometheus: All for every variable, the whole range, Grafana's interval for rates.

    Grafana's windows of rates have at least four scrapes, and one scrape more than the points' distance.
    """
    step = max(step, scrape)
    window = math.ceil(max(step + scrape, 4 * scrape))
    return put_in(
        expression,
        {
            "job": ".+",
            "instance": ".+",
            "cluster": ".*",
            "consumergroup": group,
            "client_id": ".*",
            "across": across,
            "__range": f"{math.ceil(seconds)}s",
            "__interval_ms": f"{step * 1000:.0f}",
            "__rate_interval": f"{window}s",
            "__rate_interval_ms": f"{window * 1000}",
        },
    )
