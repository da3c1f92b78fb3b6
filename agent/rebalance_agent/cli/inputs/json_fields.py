"""Validators for parsed JSON. Each validator takes a value and its path, and returns the value with its type.

A validator raises an InvalidInputError that names the path.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable, Mapping
from typing import NoReturn

from rebalance_agent.errors import InvalidInputError

__all__ = [
    "INPUT_BYTES_MAX",
    "NAME_MAX",
    "as_bytes",
    "as_entries",
    "as_list",
    "as_load",
    "as_name",
    "as_names",
    "as_number",
    "as_object",
    "as_text",
    "parse_json",
    "shown",
]

INPUT_BYTES_MAX = 256 * 1024 * 1024
"""Maximum number of bytes of one group's JSON: several times the size of a group of 2,000 members with a million
partitions."""

NAME_MAX = 32_767
"""Maximum number of characters of a name: the length of the longest string in Kafka's protocol."""

SHOWN_MAX = 80
"""Maximum number of characters of an invalid name in an error."""


def parse_json(text: bytes) -> object:
    """Parse one JSON text strictly: UTF-8, no duplicate names in an object, no NaN.

    Raises:
        InvalidInputError: the text is not such JSON, or is longer than `INPUT_BYTES_MAX`.
    """
    if len(text) > INPUT_BYTES_MAX:
        raise InvalidInputError("", f"longer than {INPUT_BYTES_MAX} bytes")
    try:
        return json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InvalidInputError("", f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError("", f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise InvalidInputError("", "nested too deeply for a group") from None
    except ValueError:
        raise InvalidInputError("", "not JSON: a number has too many digits") from None


def as_object(
    path: str, value: object, allowed: set[str] | None = None, required: Iterable[str] = ()
) -> Mapping[str, object]:
    """Return an object that has all ``required`` names and, if ``allowed`` is given, only allowed names."""
    if not isinstance(value, dict):
        raise InvalidInputError(path or "group", "must be an object")
    if allowed is not None:
        for name in value:
            if name not in allowed:
                raise InvalidInputError(
                    _join(path, shown(name)), f"unknown field; the fields are {', '.join(sorted(allowed))}"
                )
    for name in sorted(required):
        if name not in value:
            raise InvalidInputError(_join(path, name), "is missing")
    return value


def as_list(path: str, value: object, what: str) -> list[object]:
    """Return a list, whose items the caller validates. ``what``: the word for the items in the error."""
    if not isinstance(value, list):
        raise InvalidInputError(path, f"must be a list of {what}")
    return value


def as_names(path: str, value: object, what: str) -> tuple[str, ...]:
    """Return a list of names. ``what``: the word for the names in the error."""
    items = as_list(path, value, what)
    for index, item in enumerate(items):
        if not isinstance(item, str) or not item:
            raise InvalidInputError(f"{path}[{index}]" if isinstance(item, str) else path, f"must be a list of {what}")
    return tuple(as_name(f"{path}[{index}]", item) for index, item in enumerate(items))


def as_entries(path: str, value: object, count: int) -> list[object]:
    """Return a list with one entry for each of ``count`` partitions."""
    items = as_list(path, value, "one entry per partition")
    if len(items) != count:
        raise InvalidInputError(path, f"must have one entry for each of {count} partitions, has {len(items)}")
    return items


def as_text(path: str, value: object) -> str:
    """Return a text of at most `NAME_MAX` characters."""
    if not isinstance(value, str):
        raise InvalidInputError(path, "must be text")
    if len(value) > NAME_MAX:
        raise InvalidInputError(path, f"longer than {NAME_MAX} characters")
    return value


def as_name(path: str, value: object) -> str:
    """Return a text of 1 to `NAME_MAX` characters."""
    text = as_text(path, value)
    if not text:
        raise InvalidInputError(path, "must not be empty")
    return text


def as_number(path: str, value: object, minimum: int, maximum: int) -> int:
    """Return a whole number from ``minimum`` to ``maximum``."""
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise InvalidInputError(path, f"must be a whole number from {minimum} to {maximum}")
    return value


def as_load(path: str, value: object) -> float:
    """Return a finite number that is not negative."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            load = float(value)
        except OverflowError:
            load = math.inf
        if 0 <= load < math.inf:
            return load
    raise InvalidInputError(path, "must be a number of at least 0")


def as_bytes(path: str, value: object) -> bytes:
    """Return the bytes of base64 text."""
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise InvalidInputError(path, "must be base64")


def shown(name: str) -> str:
    """Return a name for an error: on one line, with at most `SHOWN_MAX` characters."""
    return repr(name[:SHOWN_MAX]) if not name.isprintable() or len(name) > SHOWN_MAX else name


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidInputError(shown(name), "appears twice in one object")
            seen.add(name)
    return fields


def _no_constant(text: str) -> NoReturn:
    raise InvalidInputError("", f"not JSON: {text}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
