"""Our own requests, in the form in which kafka-python's connections send them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["FrameRequest"]

_LENGTH = struct.Struct(">i")


class _Head(NamedTuple):
    correlation_id: int


class FrameRequest:
    """A request that kafka-python's connections can send; ``encode`` returns the frame for a correlation id.

    The response is the whole frame after its length, as bytes.
    """

    def __init__(self, key: int, version: int, encode: Callable[[int, str], bytes]) -> None:
        """``encode`` is called with the correlation id and the client id."""
        self.API_KEY, self.API_VERSION = self.api_key, self.api_version = key, version
        self._encode, self.correlation_id, self._client_id = encode, 0, ""

    @property
    def header(self) -> FrameRequest:
        """The request itself, with its correlation id and the schema of its response."""
        return self

    def with_header(self, correlation_id: int, client_id: str) -> None:
        """Store the ids of the header."""
        self.correlation_id, self._client_id = correlation_id, client_id

    def encode(self, *, framed: bool, header: bool) -> bytes:  # noqa: ARG002 - always with both
        """Return the request with its length and header."""
        frame = self._encode(self.correlation_id, self._client_id)
        return _LENGTH.pack(len(frame)) + frame

    def expect_response(self) -> bool:
        """Whether the broker answers: always."""
        return True

    def get_response_class(self) -> type[FrameRequest]:
        """Return the class that reads the response, which is this class."""
        return FrameRequest

    @staticmethod
    def parse_header(frame: Any) -> _Head:  # noqa: ANN401 - kafka-python's buffer
        """Read the correlation id, and leave the buffer at its beginning."""
        head = _Head(*_LENGTH.unpack(frame.read(_LENGTH.size)))
        frame.seek(0)
        return head

    @staticmethod
    def decode(frame: Any) -> bytes:  # noqa: ANN401
        """Return the whole response."""
        return bytes(frame.read())
