"""Writes the JSON of a board; the same board always gives the same bytes."""

from __future__ import annotations

import json
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.grafana.render import render
from dashboards.parts.board import Board

__all__ = ["SCHEMA_VERSION", "document", "text"]

SCHEMA_VERSION = 39
"""The schema version of Grafana 11.0, which later versions also read; the builders write the newest version."""


def document(board: Board) -> dict[str, Any]:
    """Return the board as plain values, without empty and default values."""
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
    """Return the file's text with sorted keys, so that a diff shows only real changes."""
    return json.dumps(document(board), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _without(values: dict[str, Any], *keys: str) -> None:
    for key in keys:
        values.pop(key, None)
