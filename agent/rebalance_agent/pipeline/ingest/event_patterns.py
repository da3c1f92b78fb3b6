"""Regular expressions for lines exactly as `json_line` writes them, which need no Python. Pure, without Spark.

Compact JSON with sorted fields, of types that do not contain themselves, is a regular language. So one expression per
kind of event, derived from the same type hints as the codec, checks a whole line: fields, types, choices and digits.
The codec reads a line that matches and writes the same text again, except for what no such expression can compare: the
order of names and of partitions, and one number with another (see `native_decoding`).

Valid but unusual forms do not match: escapes, characters outside ASCII, and numbers of more digits than any double
keeps. Repetitions of groups are possessive: matching is linear and needs no stack in Java. Java and Python read these
expressions alike.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

from rebalance_agent.model.event_json import ITEMS_MAX
from rebalance_agent.model.events import SCHEMA_VERSION, Event
from rebalance_agent.model.partition_ranges import ReportedPartitions
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.reported.workload import WHERE_MAX, Workload
from rebalance_agent.pipeline.ingest.number_limits import LIMITS, NAME_MAX, NumberLimit

__all__ = ["PARTITIONS", "PARTITIONS_OF_TOPIC_MAX", "TEXT_MAX", "event_pattern", "field_hints", "inner_hint"]

TEXT_MAX = NAME_MAX
"""Maximum characters of each text, the lowest that the codec has for any, except for those of `Workload`."""

PARTITIONS = (TopicPartitions, ReportedPartitions)
"""The type hints of partitions by topic."""

PARTITIONS_OF_TOPIC_MAX = 10_000
"""Exclusive maximum of partition numbers, so that few topics cannot exceed the codec's maximum of partitions in all."""

_CHARACTER = r"[ !#-\[\]-~]"
"""Printable ASCII that JSON does not escape."""

_TEXT = f'"{_CHARACTER}*"'
_NOT_EMPTY = f'"{_CHARACTER}+"'
_PLACE = f'"{_CHARACTER}{{0,{WHERE_MAX}}}+"'

_FLOAT = r"(?!0\.0000)(?:0|[1-9][0-9]{0,8}+)\.(?:0|[0-9]{0,5}[1-9])(?![0-9])"
"""Not negative, with at most nine digits before the point and six after it.

A decimal number of at most 15 digits is the shortest form of its double. Python writes those below 0.0001 otherwise.
"""

_ANY = NumberLimit(-(2**63), 2**63, "")
_OF_MANY = NumberLimit(0, 10**9, "")
"""Bounds of a number in a map, such as partitions by topic: their sum is far below 64 bits."""

_BASE64 = '"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?+"'
"""The last character before the padding has no bits that decoding drops; a group of four is not cut for it."""

_PARTITION = f"(?:0|[1-9][0-9]{{0,{len(str(PARTITIONS_OF_TOPIC_MAX)) - 2}}}+)"
_RANGE = f"{_PARTITION}(?:-{_PARTITION})?+"
_RANGES = f'"{_RANGE}(?:,{_RANGE})*+"'

_SCALARS: Mapping[Any, str] = types.MappingProxyType(
    {str: _TEXT, float: _FLOAT, bool: "(?:true|false)", bytes: _BASE64}
)


def event_pattern(kind: type[Event]) -> str:
    """Return the expression for a whole line of this kind, if no text in it is longer than `TEXT_MAX`.

    Raises:
        TypeError: a field has a type, or its dataclass a check, that is unknown here.
    """
    return _object(kind, {"kind": f'"{kind.KIND}"', "schema_version": str(SCHEMA_VERSION), "event_id": _NOT_EMPTY})


def inner_hint(hint: Any) -> Any:  # noqa: ANN401 - no narrower type holds every type hint
    """Return the hint of a value that is not None."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (hint,) = (argument for argument in typing.get_args(hint) if argument is not type(None))
    return hint


def field_hints(kind: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the type hints of a dataclass's fields, in their order."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _object(kind: type[Any], fixed: Mapping[str, str] | None = None) -> str:
    if hasattr(kind, "__post_init__") and kind is not Workload:
        raise TypeError(f"{kind.__name__} has checks of its own, which are unknown here")
    hints, own = field_hints(kind), kind is Workload
    values = {name: _PLACE if own else _value(hint, LIMITS.get(name, _ANY)) for name, hint in hints.items()}
    values |= fixed or {}
    absent = {field.name for field in fields(kind) if _may_be_absent(field, hints[field.name])}
    # A comma is followed by another field, and the last field by none, whichever of them are absent.
    texts = {name: rf'"{name}":{value}(?:,(?=")|(?=\}}))' for name, value in values.items()}
    return r"\{" + "".join(f"(?:{texts[name]})?+" if name in absent else texts[name] for name in sorted(texts)) + r"\}"


def _may_be_absent(field: Field[Any], hint: Any) -> bool:  # noqa: ANN401
    """Whether the codec writes the event without this field and reads it back as the same value, which is None."""
    return inner_hint(hint) is not hint and field.default in (None, MISSING) and field.default_factory is MISSING


def _value(hint: Any, limit: NumberLimit) -> str:  # noqa: ANN401
    hint = inner_hint(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hint is int:
        return _integer(limit)
    if hint in PARTITIONS:
        return _map(_RANGES)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f'"(?:{"|".join(re.escape(str(choice.value)) for choice in hint)})"'
    if is_dataclass(hint):
        return _object(typing.cast("type[Any]", hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        item = _value(arguments[0], _OF_MANY)
        return rf"\[(?:{item}(?:,{item}){{0,{ITEMS_MAX - 1}}}+)?+\]"
    if origin is not None and issubclass(origin, Mapping):
        return _map(_value(arguments[1], _OF_MANY))
    raise TypeError(f"no pattern for {hint!r}")


def _map(value: str) -> str:
    return rf"\{{(?:{_TEXT}:{value}(?:,{_TEXT}:{value}){{0,{ITEMS_MAX - 1}}}+)?+\}}"


def _integer(limit: NumberLimit) -> str:
    """Return a pattern for whole powers of ten within the limit."""
    first, beyond = int(limit.first), int(limit.beyond)
    digits = len(str(beyond)) - 1
    if first > 0:  # of as many digits as the maximum has
        return f"[1-{int(str(beyond)[0]) - 1}][0-9]{{{digits}}}"
    sign = "-?" if first < -(10**digits) else ""
    return f"(?:0|{sign}[1-9][0-9]{{0,{digits - 1}}}+)"
