"""Writes ``docs/api.md`` from the routes and the shapes of the answers."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from inspect import cleandoc
from types import UnionType
from typing import Any, cast

from rebalance_agent.api.history import HistoryLimits
from rebalance_agent.api.json_schema import field_descriptions, shapes_of
from rebalance_agent.api.openapi import OPENAPI_VERSION
from rebalance_agent.api.query import QUERY_MAX
from rebalance_agent.api.routes import GROUPS, LIMIT_MAX, ROUTES, Parameter
from rebalance_agent.api.shapes import values_of
from rebalance_agent.model.events import EVENT_KINDS, Event
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["api_page"]

_LIMITS = HistoryLimits()

_HEAD = f"""\
# The API

`make docs` generates this page from `rebalance_agent.api`; change it there.

The observer serves JSON under `/api/v1/` on the port of its metrics: the current state of every group, and its last
rebalances. Responses come from memory and cause no request to a broker. [`watch`](watch.md) and [`explain`](explain.md)
use the API. `/api/v1/openapi.json` is its OpenAPI {OPENAPI_VERSION} description. The [glossary](glossary.md) explains
terms such as *episode* and *bound*.

```sh
curl -s 'localhost:29308/api/v1/groups?match=orders*&sort=-stall&limit=3'
curl -s localhost:29308/api/v1/groups/orders | jq '.members[] | [.client_id, .where.pod, .assigned]'
curl -s localhost:29308/api/v1/groups/orders/rebalances | jq '.rebalances[0] | .trigger, .stall.seconds'
```

- Times are in epoch milliseconds, and durations in seconds. Partitions are ranges such as `0-4,7`. Fields with
  unknown values are absent. New versions may add fields, but do not remove fields.
- A group's name is one segment of the path. Percent-encode the name, including slashes: `a/b` is
  `/api/v1/groups/a%2Fb`.
- Errors are `{{"error": "..."}}`, and the text contains the solution. The status is 400 for a wrong request, 404
  for an unknown path, group or rebalance, and 401 if the web port requires a token.
- A query has at most {QUERY_MAX} characters, and a response at most {LIMIT_MAX} groups. The agent writes a group's
  JSON only when the group changes, so polling thousands of groups every second is cheap.
- The API has the rebalances since the start of the process: at most {_LIMITS.rebalances} of each group, of at most
  {_LIMITS.groups} groups, {_LIMITS.size_bytes >> 20} MiB in total. Above these limits, the rebalances of the group
  that changed longest ago are removed first. Those of a deleted group are removed immediately. The complete history
  is in the topic [`rebalance-events`](events.md).
"""


def api_page() -> str:
    """The page as Markdown: paths, parameters, then a table for each shape."""
    parts = [_HEAD, "## Paths\n", _table(("path", "response", "meaning"), _paths())]
    parts += [
        f"## Parameters of `{GROUPS.path}`\n",
        _table(("name", "value", "meaning"), map(_parameter, GROUPS.parameters)),
    ]
    shapes = {shape: None for route in ROUTES if route.answer for shape in shapes_of(route.answer)}
    for shape in shapes:
        if _is_described(shape):
            text = cleandoc(shape.__doc__ or "")
            parts += [f"## {shape.__name__}\n\n{text}\n", _table(("field", "type", "meaning"), _fields(shape))]
    sets = {shape for shape in shapes if issubclass(shape, Enum)} & set(_named())
    parts += [
        "## Closed sets\n",
        _table(("name", "values"), map(_values, sorted(sets, key=lambda kind: kind.__name__))),
    ]
    return "\n".join(parts)


def _paths() -> Iterator[tuple[str, ...]]:
    for route in ROUTES:
        yield f"`{route.path}`", _link(route.answer) if route.answer else "OpenAPI", route.text


def _parameter(parameter: Parameter) -> tuple[str, ...]:
    if parameter.kind is int:
        value = f"0 to {parameter.maximum}"
    elif issubclass(parameter.kind, StrEnum):
        value = _listed(parameter.kind)
    else:
        value = f"text of 1 to {parameter.maximum} characters"
    default = "" if parameter.default is None else f" (default `{parameter.default}`)"
    return f"`{parameter.name}`", value, parameter.text + default


def _fields(shape: type) -> Iterator[tuple[str, ...]]:
    hints, texts = typing.get_type_hints(shape), field_descriptions(shape)
    for field in fields(cast("Any", shape)):
        yield f"`{field.name}`", _type(hints[field.name]), texts[field.name]


def _named() -> Iterator[type]:
    """The types of the fields in this page's tables; events have a page of their own."""
    for shape in (shape for route in ROUTES if route.answer for shape in shapes_of(route.answer)):
        if _is_described(shape):
            for hint in typing.get_type_hints(shape).values():
                yield from (hint, *typing.get_args(hint))


def _is_described(shape: type) -> bool:
    """Whether the page has a table of it; events have a page of their own."""
    return is_dataclass(shape) and shape not in EVENT_KINDS.values() and bool(field_descriptions(shape))


def _values(kind: type) -> tuple[str, ...]:
    return kind.__name__, _listed(cast("type[Enum]", kind))


def _listed(kind: type[Enum]) -> str:
    return ", ".join(f"`{value}`" for value in values_of(kind))


def _type(hint: Any) -> str:  # noqa: ANN401 - any type hint
    if hint == Event:
        return "[event](events.md)"
    if hint == TopicPartitions:
        return "ranges by topic"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"[{hint.__name__}](#closed-sets)"
    if is_dataclass(hint):
        return _link(cast("type", hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        return " or ".join("nothing" if part is type(None) else _type(part) for part in arguments)
    if origin is tuple:
        return "list of " + re.sub(r"^(string|whole number|number|object)\b", r"\1s", _type(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return f"{_type(arguments[1])} by name"
    return {str: "string", int: "whole number", float: "number", bool: "true or false"}[hint]


def _link(shape: type) -> str:
    """A link to the shape's table, or to the page about events."""
    if field_descriptions(shape):
        return f"[{shape.__name__}](#{shape.__name__.lower()})"
    names = ", ".join(f"`{field.name}`" for field in fields(cast("Any", shape)))
    return "[event](events.md)" if shape in EVENT_KINDS.values() else f"object of {names}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
