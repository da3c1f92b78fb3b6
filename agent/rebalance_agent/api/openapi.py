"""Generates the API's OpenAPI 3.1 document from the routes and the shapes of the answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from rebalance_agent import __version__
from rebalance_agent.api.json_schema import Schema, SchemaForm, shapes_of
from rebalance_agent.api.routes import MATCHES_MAX, ROUTES, Parameter, Route
from rebalance_agent.api.shapes import ApiError, values_of

__all__ = ["OPENAPI_VERSION", "openapi_document"]

OPENAPI_VERSION = "3.1.0"

_FORM = SchemaForm("#/components/schemas/", read=False)
_ERRORS = {
    "400": "The request is invalid; the text explains what to change.",
    "401": "The agent requires a bearer token.",
    "404": "There is no such path, group or rebalance.",
}


def openapi_document() -> dict[str, Any]:
    """Return the whole document as a JSON-ready dict."""
    schemas: dict[str, Schema] = {}
    for answer in (ApiError, *(route.answer for route in ROUTES if route.answer)):
        for shape in shapes_of(answer):
            schemas.setdefault(shape.__name__, _FORM.object_of(shape))
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "kafka-rebalance-agent",
            "version": __version__,
            "description": "Consumer groups now, and their last rebalances. Times are epoch milliseconds, durations "
            "seconds. A field that is not required is omitted if its value is unknown; later releases add fields.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {route.path: {"get": _operation(route)} for route in ROUTES},
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def _operation(route: Route) -> Schema:
    names = [part.strip("{}") for part in route.segments if part.startswith("{")]
    ok: Schema = {"type": "object"} if route.answer is None else _FORM.of(route.answer)
    return {
        "operationId": route.operation,
        "summary": route.text,
        "parameters": [*map(_path_parameter, names), *map(_query_parameter, route.parameters)],
        "responses": {
            "200": {"description": route.text, "content": {"application/json": {"schema": ok}}},
            **{
                status: {"description": text, "content": {"application/json": {"schema": _FORM.of(ApiError)}}}
                for status, text in _ERRORS.items()
            },
        },
    }


def _path_parameter(name: str) -> Schema:
    text = "percent-encoded, including slashes" if name == "group" else "id of any of its events"
    return {"name": name, "in": "path", "required": True, "description": text, "schema": {"type": "string"}}


def _query_parameter(parameter: Parameter) -> Schema:
    schema: Schema
    if parameter.kind is int:
        schema = {"type": "integer", "minimum": 0, "maximum": parameter.maximum}
    elif issubclass(parameter.kind, StrEnum):
        schema = {"type": "string", "enum": list(values_of(parameter.kind))}
    else:
        schema = {"type": "string", "minLength": 1, "maxLength": parameter.maximum}
        if parameter.pattern:
            schema["pattern"] = parameter.pattern
    if parameter.repeats:
        schema = {"type": "array", "items": schema, "maxItems": MATCHES_MAX}
    if parameter.default is not None:
        schema["default"] = parameter.default
    return {"name": parameter.name, "in": "query", "description": parameter.text, "schema": schema}
