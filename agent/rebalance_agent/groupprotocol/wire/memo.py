"""A cache for functions with short arguments that occur repeatedly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

__all__ = ["LENGTH_MAX", "remembered"]

LENGTH_MAX = 1_024
"""Maximum length of a cached argument, in bytes or characters: names from outside may have 32 KiB, and thousands of
them gigabytes."""

_K = TypeVar("_K", bytes, str)
_V = TypeVar("_V")


def remembered(read: Callable[[_K], _V], entries_max: int) -> Callable[[_K], _V]:
    """Return ``read`` with a cache of its last ``entries_max`` results; long arguments bypass it."""
    cached = functools.lru_cache(entries_max)(read)

    def answer(key: _K) -> _V:
        return cached(key) if len(key) <= LENGTH_MAX else read(key)

    return answer
