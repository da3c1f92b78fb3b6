"""Answers about names and keys that come again and again, remembered as long as those are short."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

__all__ = ["LENGTH_MAX", "remembered"]

LENGTH_MAX = 1_024
"""Bytes or characters of what is remembered: names from outside may have 32 KiB each, thousands of them gigabytes."""

_K = TypeVar("_K", bytes, str)
_V = TypeVar("_V")


def remembered(read: Callable[[_K], _V], most: int) -> Callable[[_K], _V]:
    """``read`` with the answers to the last ``most`` short questions kept; long ones are asked each time."""
    cached = functools.lru_cache(most)(read)

    def answer(key: _K) -> _V:
        return cached(key) if len(key) <= LENGTH_MAX else read(key)

    return answer
