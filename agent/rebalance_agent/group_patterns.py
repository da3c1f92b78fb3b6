"""Parses settings of individual groups: lists of entries, each with a pattern for whole group names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from rebalance_agent.errors import InvalidInputError

__all__ = ["compiled_pattern", "first_match", "split_entries"]

_ValueT = TypeVar("_ValueT")

_SEPARATORS = re.compile(r"[;\n]")


def split_entries(text: str, maximum: int) -> list[str]:
    """Return the entries of a setting, separated by newlines or semicolons.

    Raises:
        InvalidInputError: more than ``maximum`` entries.
    """
    entries = [entry.strip() for entry in _SEPARATORS.split(text) if entry.strip()]
    if len(entries) > maximum:
        raise InvalidInputError("", f"has {len(entries)} entries, more than {maximum}")
    return entries


def compiled_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression ``text``; its dots match newlines, which names may contain.

    Raises:
        InvalidInputError: it is not a regular expression.
    """
    try:
        return re.compile(text.strip(), re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInputError("", f"{text.strip()!r} is not a regular expression: {error}") from None


def first_match(entries: Iterable[tuple[re.Pattern[str], _ValueT]], group: str, default: _ValueT) -> _ValueT:
    """Return the value of the first entry whose pattern matches the whole name ``group``."""
    return next((value for pattern, value in entries if pattern.fullmatch(group)), default)
