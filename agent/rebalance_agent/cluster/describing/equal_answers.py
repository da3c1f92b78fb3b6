"""Recognises responses that equal those of the last round, so that they need not be decoded again."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["EqualAnswers"]

_T = TypeVar("_T")

_DIGEST_BYTES = 16
_CORRELATION_BYTES = 4
"""The first bytes of a response, which differ from request to request."""


class EqualAnswers(Generic[_T]):
    """The values that were decoded from the responses of this round and the last, by request. Not thread-safe."""

    def __init__(self) -> None:
        """Start without responses."""
        self._now: dict[Hashable, tuple[bytes, _T]] = {}
        self._before: dict[Hashable, tuple[bytes, _T]] = {}

    def begin_round(self) -> None:
        """Drop the requests that were not sent in the last round."""
        self._before, self._now = self._now, {}

    def value(self, request: Hashable, frame: bytes) -> _T | None:
        """Return the value decoded from an equal response to ``request`` in the last round; None if there is none."""
        digest, value = self._before.get(request, (b"", None))
        if digest != _digest(frame):
            return None
        self._now[request] = self._before[request]
        return value

    def add(self, request: Hashable, frame: bytes, value: _T) -> None:
        """Store the value of a response (a frame without its length)."""
        self._now[request] = _digest(frame), value


def _digest(frame: bytes) -> bytes:
    return hashlib.blake2b(memoryview(frame)[_CORRELATION_BYTES:], digest_size=_DIGEST_BYTES).digest()
