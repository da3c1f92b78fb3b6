"""The head of a request: all that is read of a frame that passes untouched."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rebalance_agent.errors import DecodeError

__all__ = ["HEAD_BYTES_MIN", "RequestHead", "read_head"]

HEAD_BYTES_MIN = 8
"""Bytes of every request after its length: API key, version (int16 each) and correlation id (int32)."""

_FIXED = struct.Struct(">hhi")


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request is: by these the answer is known again, and read if it must be."""

    api_key: int
    api_version: int
    correlation_id: int


def read_head(frame: bytes | bytearray | memoryview) -> RequestHead:
    """The head of ``frame``, which begins after the length and may end where the head does.

    Raises:
        DecodeError: it is shorter than every request.
    """
    if len(frame) < HEAD_BYTES_MIN:
        raise DecodeError(f"a request of {len(frame)} bytes has no header")
    return RequestHead(*_FIXED.unpack_from(frame))
