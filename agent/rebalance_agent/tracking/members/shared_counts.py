"""Counts how many members share a value, such as a topic."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

__all__ = ["add_count"]

_Counted = TypeVar("_Counted")


def add_count(counts: Counter[_Counted], key: _Counted, by: int) -> bool:
    """Add ``by`` to a count; return whether this added or removed ``key``."""
    counts[key] += by
    if counts[key]:
        return counts[key] == by
    del counts[key]
    return True
