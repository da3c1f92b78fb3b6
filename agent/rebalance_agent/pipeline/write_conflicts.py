"""Repeats a write of a Delta table if it conflicts with the write of another writer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

__all__ = ["ATTEMPTS_MAX", "retry_conflicts"]

ATTEMPTS_MAX = 10
"""Maximum number of attempts of a write. Two writers seldom conflict twice; after ten attempts, something else is
wrong."""

_CONFLICT = re.compile(
    r"io\.delta\.exceptions\.\w*(Concurrent|Changed)\w*Exception|DELTA_(CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)"
)
"""Matches Delta's errors for a conflict with another writer; Delta's Python package 4.0 has no classes for them."""

_Result = TypeVar("_Result")


def retry_conflicts(write: Callable[[], _Result]) -> _Result:
    """Call ``write``, again if another writer was faster, at most `ATTEMPTS_MAX` times; return its result."""
    for _ in range(ATTEMPTS_MAX - 1):
        try:
            return write()
        except (Py4JJavaError, PySparkException) as error:
            if not _CONFLICT.search(str(error)):
                raise
            # Nothing was written: Delta checks for conflicts before it commits.
    return write()
