"""Measures the memory that Python objects take."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def traced_memory() -> Iterator[Callable[[], tuple[int, int]]]:
    """Yield a function that returns the bytes allocated in this block that are still in use, and the peak of these."""
    tracemalloc.start()
    try:
        yield tracemalloc.get_traced_memory
    finally:
        tracemalloc.stop()
