"""Reads the name and version of a client library from the client's ApiVersions request (KIP-511)."""

from __future__ import annotations

from rebalance_agent.gateway.transport.request_head import RequestHead, client_id_end
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["read_software"]

_NAMED_SINCE = 3
"""The first version of ApiVersions with the library's name. Newer versions have the name at the same position."""

_MORE_BYTES = 0x80
"""This bit of a length is set if a second byte follows: then the text has 127 bytes or more; no client sends this."""


def read_software(head: RequestHead, frame: bytes) -> ClientSoftware:
    """Return the client library that an ApiVersions request names, even if the gateway does not support the version."""
    if head.api_version < _NAMED_SINCE:
        return ClientSoftware()
    name, at = _text(frame, client_id_end(frame) + 1)  # this header has no tagged fields
    version, _ = _text(frame, at)
    return ClientSoftware(name, version)


def _text(frame: bytes, at: int) -> tuple[str, int]:
    """Return the compact string at a position (empty if it cannot be read), and the position after the string."""
    length = frame[at] if at < len(frame) else 0
    end = at + max(1, length)
    if length >= _MORE_BYTES or end > len(frame):
        return "", len(frame)
    return frame[at + 1 : end].decode("utf-8", "replace"), end
