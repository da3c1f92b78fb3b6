"""Reads the head of a request: this is the only part that is read of a frame that is forwarded unchanged."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rebalance_agent.errors import DecodeError

__all__ = ["GATEWAY_CLIENT_ID", "HEAD_BYTES_MIN", "RequestHead", "client_id", "client_id_end", "read_head"]

GATEWAY_CLIENT_ID = "rebalance-agent-gateway"
"""The client id of the gateway's own requests."""

HEAD_BYTES_MIN = 8
"""Bytes of the fields that every request has after its length: API key, version (int16), correlation id (int32)."""

_FIXED = struct.Struct(">hhi")
_CLIENT_ID_AT = HEAD_BYTES_MIN + 2
"""The position of a request's client id, after the length of the client id (int16)."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """API key, version and correlation id of a request, which serve to match and decode the response."""

    api_key: int
    api_version: int
    correlation_id: int


def read_head(frame: bytes | bytearray | memoryview) -> RequestHead:
    """Return the head of ``frame``. The frame begins after its length field, and may end after the head.

    Raises:
        DecodeError: the frame is shorter than `HEAD_BYTES_MIN`.
    """
    if len(frame) < HEAD_BYTES_MIN:
        raise DecodeError(f"a request of {len(frame)} bytes has no header")
    return RequestHead(*_FIXED.unpack_from(frame))


def client_id(frame: bytes) -> str:
    """Return the client id of a request; empty if the request has none, or ends before it."""
    return frame[_CLIENT_ID_AT : client_id_end(frame)].decode("utf-8", "replace")


def client_id_end(frame: bytes) -> int:
    """Return the position after a request's client id, where the header's tagged fields begin, if there are any."""
    length = int.from_bytes(frame[HEAD_BYTES_MIN:_CLIENT_ID_AT], "big", signed=True)
    return _CLIENT_ID_AT + max(0, length)
