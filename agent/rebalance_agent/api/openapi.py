"""Writes the API as an OpenAPI 3.1 document, from the routes and the shapes of the answers."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from types import UnionType
from typing import Annotated, Any, cast

from rebalance_agent import __version__
from rebalance_agent.api.routes import MATCHES_MAX, ROUTES, Parameter, Route
from rebalance_agent.api.shapes import ApiError, values_of
from rebalance_agent.model.event_json import ITEMS_MAX
from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, Event
from rebalance_agent.model.partition_ranges import ReportedPartitions
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["OPENAPI_VERSION", "field_descriptions", "openapi_document", "shapes_of"]

OPENAPI_VERSION = "3.1.0"

_Schema = dict[str, Any]

_RANGES: _Schema = {
    "type": "object",
    "description": "topic -> partition numbers as ranges, such as 0-4,7",
    "additionalProperties": {"type": "string", "pattern": r"^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"},
}
_SCALARS: dict[Any, _Schema] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
}
_ERRORS = {
    "400": "The request is invalid; the text explains what to change.",
    "401": "The agent requires a bearer token.",
    "404": "There is no such path, group or rebalance.",
}


def openapi_document() -> dict[str, Any]:
    """The whole document as a JSON-ready dict."""
    schemas: dict[str, _Schema] = {}
    for answer in (ApiError, *(route.answer for route in ROUTES if route.answer)):
        for shape in shapes_of(answer):
            schemas.setdefault(shape.__name__, _shape_schema(shape))
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


def shapes_of(hint: Any) -> Iterator[type]:  # noqa: ANN401 - any type hint
    """The dataclasses and enumerations that the type ``hint`` consists of, itself first; with repetitions."""
    if hint in (TopicPartitions, ReportedPartitions) or hint in _SCALARS:
        return
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield hint
    elif is_dataclass(hint):
        yield cast("type", hint)
        for inner in typing.get_type_hints(hint).values():
            if typing.get_origin(inner) is not typing.ClassVar:
                yield from shapes_of(inner)
    else:
        for inner in typing.get_args(hint):
            if inner not in (type(None), Ellipsis):
                yield from shapes_of(inner)


def field_descriptions(shape: type) -> Mapping[str, str]:
    """Field -> its description, where the dataclass annotates one."""
    hints = typing.get_type_hints(shape, include_extras=True)
    return {name: str(hint.__metadata__[0]) for name, hint in hints.items() if typing.get_origin(hint) is Annotated}


def _operation(route: Route) -> _Schema:
    names = [part.strip("{}") for part in route.segments if part.startswith("{")]
    ok: _Schema = {"type": "object"} if route.answer is None else _schema(route.answer)
    return {
        "operationId": route.operation,
        "summary": route.text,
        "parameters": [*map(_path_parameter, names), *map(_query_parameter, route.parameters)],
        "responses": {
            "200": {"description": route.text, "content": {"application/json": {"schema": ok}}},
            **{
                status: {"description": text, "content": {"application/json": {"schema": _schema(ApiError)}}}
                for status, text in _ERRORS.items()
            },
        },
    }


def _path_parameter(name: str) -> _Schema:
    text = "percent-encoded, including slashes" if name == "group" else "id of any of its events"
    return {"name": name, "in": "path", "required": True, "description": text, "schema": {"type": "string"}}


def _query_parameter(parameter: Parameter) -> _Schema:
    schema: _Schema
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


def _schema(hint: Any) -> _Schema:  # noqa: ANN401 - any type hint
    if hint == Event:
        return _event_schema()
    if hint in (TopicPartitions, ReportedPartitions):
        return _RANGES
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum)):
        return {"$ref": f"#/components/schemas/{hint.__name__}"}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        (inner,) = (part for part in arguments if part is not type(None))
        return _schema(inner)
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0]), "maxItems": ITEMS_MAX}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    raise TypeError(f"no schema for {hint!r}")


def _event_schema() -> _Schema:
    references = {kind: f"#/components/schemas/{shape.__name__}" for kind, shape in sorted(EVENT_KINDS.items())}
    return {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": "kind", "mapping": references},
    }


def _shape_schema(shape: type) -> _Schema:
    text = " ".join((shape.__doc__ or "").replace("``", "`").split())
    if issubclass(shape, Enum):
        return {"type": "string", "description": text, "enum": list(values_of(shape))}
    hints, texts = typing.get_type_hints(shape), field_descriptions(shape)
    named = {field.name: hints[field.name] for field in fields(cast("Any", shape))}
    properties = {
        name: _schema(hint) | ({"description": texts[name]} if name in texts else {}) for name, hint in named.items()
    }
    required = [name for name, hint in named.items() if type(None) not in typing.get_args(hint)]
    if shape in EVENT_KINDS.values():
        kind = next(name for name, event in EVENT_KINDS.items() if event is shape)
        properties = {
            "kind": {"const": kind},
            "schema_version": {"type": "integer", "minimum": 1, "description": f"{SCHEMA_VERSION} in this release"},
            **properties,
        }
        required = ["kind", "schema_version", *required]
    return {"type": "object", "description": text, "properties": properties, "required": required}
