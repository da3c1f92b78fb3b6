"""Derives JSON Schemas of the dataclasses that ``model.event_json`` writes and reads, from the same type hints."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, cast

from rebalance_agent.api.shapes import values_of
from rebalance_agent.model.event_json import ITEMS_MAX, TEXT_MAX
from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, Event
from rebalance_agent.model.partition_ranges import ReportedPartitions
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["Schema", "SchemaForm", "field_descriptions", "shapes_of"]

Schema = dict[str, Any]
"""A JSON Schema (2020-12), JSON-ready."""

_MAP: Schema = {"type": "object", "propertyNames": {"maxLength": TEXT_MAX}, "maxProperties": ITEMS_MAX}
_RANGES: Schema = _MAP | {
    "description": "topic -> partition numbers as ascending ranges, such as 0-4,7",
    "additionalProperties": {"type": "string", "pattern": r"^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"},
}
_SCALARS: dict[Any, Schema] = {
    str: {"type": "string", "maxLength": TEXT_MAX},
    int: {"type": "integer", "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64", "maxLength": TEXT_MAX},
}


@dataclass(frozen=True, slots=True)
class SchemaForm:
    """The form of references between schemas, and the direction of the codec.

    ``references``: the JSON pointer before the names of classes. ``read``: the schemas describe the input of
    `event_from_json`, where fields with a default may be absent and optional fields null; otherwise they describe the
    output of `event_to_json`, which leaves out only unknown values.
    """

    references: str
    read: bool

    def of(self, hint: Any) -> Schema:  # noqa: ANN401 - any type hint
        """Return the schema of a value with this type hint.

        Raises:
            TypeError: the codec cannot encode this type either.
        """
        if hint == Event:
            return self._any_event()
        if hint in (TopicPartitions, ReportedPartitions):
            return _RANGES
        if hint in _SCALARS:
            return _SCALARS[hint]
        if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum)):
            return {"$ref": f"{self.references}{hint.__name__}"}
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, UnionType):
            (inner,) = (self.of(part) for part in arguments if part is not type(None))
            return {"anyOf": [inner, {"type": "null"}]} if self.read else inner
        if origin is tuple:
            return {"type": "array", "items": self.of(arguments[0]), "maxItems": ITEMS_MAX}
        if origin is not None and issubclass(origin, Mapping):
            return _MAP | {"additionalProperties": self.of(arguments[1])}
        raise TypeError(f"no schema for {hint!r}")

    def object_of(self, shape: type) -> Schema:
        """Return the schema of a dataclass or an enumeration, to which `of` refers by name."""
        text = " ".join((shape.__doc__ or "").replace("``", "`").split())
        if issubclass(shape, Enum):
            return {"type": "string", "description": text, "enum": list(values_of(shape))}
        hints, texts = typing.get_type_hints(shape), field_descriptions(shape)
        items = fields(cast("Any", shape))
        properties = {
            item.name: self.of(hints[item.name]) | ({"description": texts[item.name]} if item.name in texts else {})
            for item in items
        }
        required = [
            item.name
            for item in items
            if type(None) not in typing.get_args(hints[item.name])
            and not (self.read and (item.default is not MISSING or item.default_factory is not MISSING))
        ]
        if shape in EVENT_KINDS.values():
            kind = next(name for name, event in EVENT_KINDS.items() if event is shape)
            version = {"type": "integer", "minimum": 1, "description": f"{SCHEMA_VERSION} in this release"}
            properties = {"kind": {"const": kind}, "schema_version": version, **properties}
            required = ["kind", "schema_version", *required]
        return {"type": "object", "description": text, "properties": properties, "required": required}

    def _any_event(self) -> Schema:
        references = {kind: f"{self.references}{shape.__name__}" for kind, shape in sorted(EVENT_KINDS.items())}
        return {
            "oneOf": [{"$ref": reference} for reference in references.values()],
            "discriminator": {"propertyName": "kind", "mapping": references},
        }


def shapes_of(hint: Any) -> Iterator[type]:  # noqa: ANN401 - any type hint
    """Yield the dataclasses and enumerations in the type ``hint``, beginning with ``hint`` itself; with repetitions."""
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
    """Return field -> description, for the fields that the dataclass annotates with a description."""
    hints = typing.get_type_hints(shape, include_extras=True)
    return {name: str(hint.__metadata__[0]) for name, hint in hints.items() if typing.get_origin(hint) is Annotated}
