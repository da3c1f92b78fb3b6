"""Derives the JSON Schema of one line of a post of events, for reporters in any language."""

from __future__ import annotations

import functools
import json
from typing import Any

from rebalance_agent.api.json_schema import Schema, SchemaForm, shapes_of
from rebalance_agent.api.posted_events import POSTED_KINDS, TEXTS_MAX
from rebalance_agent.model.reported.client_metrics import CLIENT_VALUE_MAX, ClientMetrics
from rebalance_agent.model.reported.member_software import SOFTWARE_MAX, ClientSoftware
from rebalance_agent.model.reported.workload import WHERE_MAX, Workload

__all__ = ["posted_schema", "posted_schema_json"]

_FORM = SchemaForm("#/$defs/", read=True)


def posted_schema() -> dict[str, Any]:
    """Return the schema as a JSON-ready dict: an event of `POSTED_KINDS`.

    A schema cannot express ascending ranges, base64 texts, bounds on sums of partitions, or the bytes of a line.
    Unknown fields are allowed, because the endpoint ignores them.
    """
    shapes = {shape.__name__: shape for kind in POSTED_KINDS.values() for shape in shapes_of(kind)}
    definitions = {name: _FORM.object_of(shape) for name, shape in sorted(shapes.items())}
    for kind in POSTED_KINDS.values():
        event = definitions[kind.__name__]
        event["required"].remove("event_id")
        for name, length in TEXTS_MAX.items():
            _shorten(event, name, length)
    for shape, length in ((Workload, WHERE_MAX), (ClientSoftware, SOFTWARE_MAX)):
        for name in definitions[shape.__name__]["properties"]:
            _shorten(definitions[shape.__name__], name, length)
    measured = definitions[ClientMetrics.__name__]["properties"]
    for name, value in measured.items():
        number = {"type": "number", "minimum": 0, "maximum": int(CLIENT_VALUE_MAX)}
        measured[name] = {**value, "anyOf": [number, {"type": "null"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of a post to /v1/events of rebalance-agent sidecar",
        "oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in POSTED_KINDS.values()],
        "$defs": definitions,
    }


@functools.cache
def posted_schema_json() -> bytes:
    """Return `posted_schema` as indented JSON."""
    return json.dumps(posted_schema(), indent=1).encode() + b"\n"


def _shorten(shape: Schema, name: str, length: int) -> None:
    if name in shape["properties"]:
        shape["properties"][name] = {**shape["properties"][name], "maxLength": length}
