"""Decodes frames of the few APIs that the gateway reads into kafka-python's message objects, and encodes them again.

A frame consists of a header and a body, without its length field. The header is kept as received.

Encoding drops tagged fields that the installed kafka-python does not support (receivers may ignore such fields,
KIP-482). Therefore a frame that needs no change is forwarded as received, not encoded again.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.bounded import BoundedBytes
from rebalance_agent.gateway.transport.request_head import RequestHead

__all__ = ["Ask", "OpenedFrame", "open_frame"]

Ask = Callable[[Any], Awaitable[Any]]
"""Sends the gateway's own request (a kafka-python message with its version) on the client's connection, and therefore
with the client's permissions. Returns the response, which the client does not get. Raises ConnectionError once the
connection is closed, and DecodeError if the response cannot be read."""

_API_VERSIONS = 18
_NO_SUCH_VERSION = (35).to_bytes(2, "big")
_BROKEN = (ValueError, IndexError, AssertionError, OverflowError, struct.error)
"""The exceptions that kafka-python raises if bytes do not match their schema, for example invalid UTF-8."""


@dataclass(frozen=True, slots=True)
class OpenedFrame:
    """A decoded frame; ``message`` may be changed, and `frame` encodes it again."""

    header: bytes
    message: Any
    version: int

    def frame(self) -> bytes:
        """Return the header as received, and the current message encoded in the same version."""
        return self.header + bytes(self.message.encode())


def open_frame(kind: Any, head: RequestHead, frame: bytes) -> OpenedFrame:  # noqa: ANN401 - kafka-python is untyped
    """Decode the request with this ``head``, or the response to it; ``kind``: kafka-python's class for the message.

    Raises:
        DecodeError: the bytes do not match the schema, or bytes are left over.
    """
    version = head.api_version
    try:
        stream = io.BytesIO(frame)
        kind.parse_header(stream, version=version)
        header = stream.tell()
        if kind.API_KEY == _API_VERSIONS and not kind.is_request() and frame[header : header + 2] == _NO_SUCH_VERSION:
            version = 0  # every client can read this error (KIP-511); other errors have the requested version
        message, end = _decoder(kind, version)(BoundedBytes(frame), header)
    except _BROKEN as error:
        raise DecodeError(f"{kind.name} v{version} of {len(frame)} bytes does not match its schema: {error}") from None
    if end != len(frame):
        raise DecodeError(f"{kind.name} v{version} of {len(frame)} bytes ends after {end}")
    return OpenedFrame(frame[:header], message, version)


def _decoder(kind: Any, version: int) -> Callable[[bytes, int], tuple[Any, int]]:  # noqa: ANN401
    """Return the function behind ``kind.decode``: it also returns the end position, and accepts `BoundedBytes`."""
    if not 0 <= version <= kind.max_version:
        raise ValueError(f"only versions 0 to {kind.max_version} are supported")
    flexible = kind.flexible_version_q(version)
    decoder: Callable[[bytes, int], tuple[Any, int]] = kind._struct.compiled_decode_from(  # noqa: SLF001 - see above
        version, compact=flexible, tagged=flexible, data_class=kind[None]
    )
    return decoder
