"""The JSON of a board as it is committed: the same bytes for the same board."""

from __future__ import annotations

import json
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.board import Board
from dashboards.render import render

__all__ = ["SCHEMA_VERSION", "document", "text"]

SCHEMA_VERSION = 39
"""Of Grafana 11.0, which later ones read as well; the builders write the newest."""


def document(board: Board) -> dict[str, Any]:
    """The board as plain values, without what says nothing."""
    made: dict[str, Any] = json.loads(json.dumps(render(board).build(), cls=JSONEncoder))
    made |= {"schemaVersion": SCHEMA_VERSION, "id": None, "version": 1}
    for variable in made["templating"]["list"]:
        _without(variable, "allowCustomValue", "auto", "auto_count", "auto_min")
        if variable["type"] != "query":
            _without(variable, "refresh", "includeAll", "skipUrlSync")
    for placed in (*made["links"], *made["annotations"]["list"]):
        _without(placed, "placement")
    for panel in made["panels"]:
        _without(panel, "repeatDirection")
    return made


def text(board: Board) -> str:
    """What is in the file: keys in order, so that a change is all that a diff shows."""
    return json.dumps(document(board), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _without(values: dict[str, Any], *keys: str) -> None:
    for key in keys:
        values.pop(key, None)
