"""Encodes and reads frames with a flexible header (KIP-482): header and fields, without the frame's length."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import Reader, write_uvarint
from rebalance_agent.groupprotocol.wire.primitives import Codec

__all__ = ["read_request", "read_response", "request_frame", "response_frame", "skip_response_head", "skip_tags"]

_REQUEST_HEAD = struct.Struct(">hhi")
"""API key, version, correlation id."""
_CORRELATION_ID = struct.Struct(">i")
_SHORT = struct.Struct(">h")


def request_frame(
    key: int, version: int, correlation_id: int, client_id: str, codec: Codec, fields: Mapping[str, Any]
) -> bytes:
    """Encode a request.

    Raises:
        InvalidInputError: a field is missing, of the wrong type or too long.
    """
    client = client_id.encode()
    out = bytearray(_REQUEST_HEAD.pack(key, version, correlation_id))
    out += _SHORT.pack(len(client)) + client
    write_uvarint(out, 0)  # no tagged fields in the header
    codec.write(out, fields)
    return bytes(out)


def response_frame(correlation_id: int, codec: Codec, fields: Mapping[str, Any]) -> bytes:
    """Encode the response to the request with ``correlation_id``.

    Raises:
        InvalidInputError: a field is missing, of the wrong type or too long.
    """
    out = bytearray(_CORRELATION_ID.pack(correlation_id))
    write_uvarint(out, 0)  # no tagged fields in the header
    codec.write(out, fields)
    return bytes(out)


def read_request(reader: Reader, codec: Codec) -> dict[str, Any]:
    """Read the fields of a request after its header.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    reader.take(_REQUEST_HEAD.size)
    reader.sized(_SHORT, nullable=True)  # the client id, which is never compact
    skip_tags(reader)
    fields: dict[str, Any] = codec.read(reader)
    return fields


def read_response(reader: Reader, codec: Codec) -> dict[str, Any]:
    """Read the fields of a response after its header.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    skip_response_head(reader)
    fields: dict[str, Any] = codec.read(reader)
    return fields


def skip_response_head(reader: Reader) -> None:
    """Skip a response's header.

    Raises:
        WireError: the bytes end within the header.
    """
    reader.take(_CORRELATION_ID.size)
    skip_tags(reader)


def skip_tags(reader: Reader) -> None:
    """Skip the tagged fields of a header or a struct.

    Raises:
        WireError: the bytes end within them.
    """
    for _ in range(reader.uvarint()):
        reader.uvarint()
        reader.take(reader.uvarint())
