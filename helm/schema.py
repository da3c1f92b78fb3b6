"""Generates ``values.schema.json`` from ``values.yaml``: its comments, defaults and ``@schema`` annotations.

A comment that begins with ``# --`` before a key is its description (helm-docs uses the same). JSON schema at the end of
a key's line, as ``# @schema {...}``, is merged with the schema from the default, and replaces it if it has a ``type``
or a ``$ref``. A mapping with keys allows only these keys; an empty mapping allows any. ``null``, with which Helm
removes a key, is rejected for values that templates need.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

__all__ = ["values_schema"]

_SAID = re.compile(r"^ *# ?(.*)$")
_SCHEMA = re.compile(r"# @schema (\{.*\})\s*$")


def values_schema(text: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a chart whose ``values.yaml`` is ``text``.

    ``definitions`` can be referenced. ``global`` and ``enabled`` are always allowed: Helm passes ``global`` to every
    subchart, and ``enabled`` is the usual name of a dependency's ``condition``, which is also passed to it.
    """
    root = yaml.compose(text)
    if not isinstance(root, yaml.MappingNode):
        raise TypeError("values.yaml must be a mapping")
    schema = _mapping(root, text.splitlines())
    schema["properties"]["global"] = {"type": "object", "description": "Global values of the parent chart."}
    schema["properties"]["enabled"] = {"type": "boolean", "description": "Whether the parent chart enables this chart."}
    return {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": definitions, **schema}


def _mapping(node: yaml.MappingNode, lines: list[str]) -> dict[str, Any]:
    properties = {key.value: _value(key, value, lines) for key, value in node.value}
    required = [key.value for key, value in node.value if _needed(value, lines[key.start_mark.line])]
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    return schema | ({"required": required} if required else {})


def _needed(value: yaml.Node, line: str) -> bool:
    """Return whether templates need the value: a switch, a text with a minimum length, a non-empty list or mapping."""
    stated = yaml.safe_load(found[1]) if (found := _SCHEMA.search(line)) else {}
    if isinstance(value, yaml.ScalarNode):
        return value.tag.endswith(":bool") or "minLength" in stated
    return bool(value.value) and stated.get("type") != "object"


def _value(key: yaml.ScalarNode, value: yaml.Node, lines: list[str]) -> dict[str, Any]:
    line = key.start_mark.line
    described = {"description": said} if (said := _comment(lines, line)) else {}
    stated = yaml.safe_load(found[1]) if (found := _SCHEMA.search(lines[line])) else {}
    if "$ref" in stated or "type" in stated:
        return described | stated
    return described | _told(value, lines) | stated


def _told(value: yaml.Node, lines: list[str]) -> dict[str, Any]:
    """Return the schema that follows from a default value."""
    if isinstance(value, yaml.MappingNode):
        return _mapping(value, lines) if value.value else {"type": "object"}
    if isinstance(value, yaml.SequenceNode):
        return {"type": "array"}
    kinds: dict[str, dict[str, Any]] = {"bool": {"type": "boolean"}, "int": {"type": "integer", "minimum": 0}}
    return kinds.get(value.tag.rpartition(":")[2], {"type": "string"})


def _comment(lines: list[str], line: int) -> str:
    """Return the comment above a line from its ``# --`` on, in one line; empty if there is none."""
    said: list[str] = []
    while line and (found := _SAID.match(lines[line - 1])):
        line -= 1
        said.insert(0, found[1].removeprefix("-- "))
        if found[1].startswith("-- "):
            return " ".join(said)
    return ""
