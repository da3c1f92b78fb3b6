"""JSON from outside, checked where it enters: each function takes a value with its path, by which it is named if wrong.

All of them raise InvalidInputError.
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
"""Bytes of one group's JSON: several times that of 2,000 members with a million partitions."""

NAME_MAX = 32_767
"""Characters of any name: the longest string of the Kafka protocol."""

SHOWN_MAX = 80
"""Characters of a wrong name that an error repeats."""


def parse_json(text: bytes) -> object:
    """Parse one JSON text strictly: UTF-8, no name twice in one object, no NaN.

    Raises:
        InvalidInputError: it is not that, or longer than `INPUT_BYTES_MAX`.
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
        raise InvalidInputError("", "not JSON of a group: nested too deeply") from None
    except ValueError:
        raise InvalidInputError("", "not JSON: a number has too many digits") from None


def as_object(
    path: str, value: object, known: set[str] | None = None, required: Iterable[str] = ()
) -> Mapping[str, object]:
    """An object; with ``known``, no other names are in it."""
    if not isinstance(value, dict):
        raise InvalidInputError(path or "group", "must be an object")
    if known is not None:
        for name in value:
            if name not in known:
                raise InvalidInputError(
                    _join(path, shown(name)), f"unknown field; there are {', '.join(sorted(known))}"
                )
    for name in sorted(required):
        if name not in value:
            raise InvalidInputError(_join(path, name), "is missing")
    return value


def as_list(path: str, value: object, what: str) -> list[object]:
    """A list of ``what``, which are checked by the caller."""
    if not isinstance(value, list):
        raise InvalidInputError(path, f"must be a list of {what}")
    return value


def as_names(path: str, value: object, what: str) -> tuple[str, ...]:
    """A list of names."""
    items = as_list(path, value, what)
    for place, item in enumerate(items):
        if not isinstance(item, str) or not item:
            raise InvalidInputError(f"{path}[{place}]" if isinstance(item, str) else path, f"must be a list of {what}")
    return tuple(as_name(f"{path}[{place}]", item) for place, item in enumerate(items))


def as_entries(path: str, value: object, count: int) -> list[object]:
    """A list of ``count`` entries, one for each partition."""
    items = as_list(path, value, "one entry per partition")
    if len(items) != count:
        raise InvalidInputError(path, f"must have one entry for each of {count} partitions, has {len(items)}")
    return items


def as_text(path: str, value: object) -> str:
    """Text of at most `NAME_MAX` characters."""
    if not isinstance(value, str):
        raise InvalidInputError(path, "must be text")
    if len(value) > NAME_MAX:
        raise InvalidInputError(path, f"longer than {NAME_MAX} characters")
    return value


def as_name(path: str, value: object) -> str:
    """Such text, not empty."""
    text = as_text(path, value)
    if not text:
        raise InvalidInputError(path, "must not be empty")
    return text


def as_number(path: str, value: object, minimum: int, maximum: int) -> int:
    """A whole number within bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise InvalidInputError(path, f"must be a whole number from {minimum} to {maximum}")
    return value


def as_load(path: str, value: object) -> float:
    """A number that is not negative, nor infinite."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            load = float(value)
        except OverflowError:
            load = math.inf
        if 0 <= load < math.inf:
            return load
    raise InvalidInputError(path, "must be a number that is not negative")


def as_bytes(path: str, value: object) -> bytes:
    """Base64."""
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise InvalidInputError(path, "must be base64")


def shown(name: str) -> str:
    """A name as an error repeats it: one line, not too long."""
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
