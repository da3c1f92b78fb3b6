"""Reads values of a confluent-kafka configuration, which are text or Python objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebalance_agent.errors import InvalidInputError

__all__ = ["flag", "text", "whole"]

_TRUE = frozenset({"true", "1", "t"})
_FALSE = frozenset({"false", "0", "f"})
_DIGITS_MAX = 10  # of an int32


def text(config: Mapping[str, Any], name: str, default: str) -> str:
    """Return the setting as text.

    Raises:
        InvalidInputError: it is neither text nor a number.
    """
    value = config.get(name)
    if value is None:
        return default
    if not isinstance(value, str | int | float):
        raise InvalidInputError(name, "must be text")
    return str(value)


def flag(config: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return the setting as a boolean, by librdkafka's spellings.

    Raises:
        InvalidInputError: it is not a boolean.
    """
    value = text(config, name, str(default)).lower()
    if value not in _TRUE | _FALSE:
        raise InvalidInputError(name, "must be true or false")
    return value in _TRUE


def whole(config: Mapping[str, Any], name: str, default: int, minimum: int, maximum: int) -> int:
    """Return the setting as an integer from ``minimum`` to ``maximum``.

    Raises:
        InvalidInputError: it is not an integer, or out of bounds.
    """
    value = text(config, name, str(default))
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX and minimum <= int(value) <= maximum):
        raise InvalidInputError(name, f"must be a whole number from {minimum} to {maximum}")
    return int(value)
