"""Resolves names of services for pods without a cluster's DNS: ``NAME.NAMESPACE.svc.cluster.local``.

It answers one question of type A in a datagram, the part of RFC 1035 that tests need. For unknown names the answer is
NXDOMAIN; for other types it contains no record.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

from support.cluster.network import ADDRESS

__all__ = ["Dns", "answer"]

PORT = 53
DATAGRAM_MAX = 512
TTL_SECONDS = 1  # services change with each test

_HEADER = struct.Struct("!6H")
_TYPE_A, _CLASS_IN, _NAME_ERROR = 1, 1, 3
_ANSWERED = 0x8180  # a response, recursion desired and available

Addresses = Callable[[str, str], str | None]
"""Service's name and namespace -> its address, None if there is none."""


def answer(query: bytes, addresses: Addresses) -> bytes | None:
    """The reply to a datagram; None if this is not a query with one question."""
    if len(query) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(query)
    parsed = _question(query)
    if flags & 0x8000 or questions != 1 or parsed is None:
        return None
    labels, end = parsed
    kind = struct.unpack_from("!H", query, end - 4)[0]
    match [label.lower() for label in labels]:
        case [name, namespace, "svc", "cluster", "local"]:
            address = addresses(name, namespace)
        case _:
            address = None
    question = query[_HEADER.size : end]
    if address is None:
        return _HEADER.pack(number, _ANSWERED | _NAME_ERROR, 1, 0, 0, 0) + question
    if kind != _TYPE_A:
        return _HEADER.pack(number, _ANSWERED, 1, 0, 0, 0) + question
    packed = ipaddress.IPv4Address(address).packed
    record = struct.pack("!HHHIH", 0xC00C, _TYPE_A, _CLASS_IN, TTL_SECONDS, len(packed)) + packed
    return _HEADER.pack(number, _ANSWERED, 1, 1, 0, 0) + question + record


def _question(query: bytes) -> tuple[list[str], int] | None:
    """The labels of the name, and the offset where the question ends; None if it is truncated."""
    labels, at = [], _HEADER.size
    while at < len(query) and (length := query[at]):
        labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    end = at + 5  # the root label, type and class
    return (labels, end) if end <= len(query) else None


class Dns:
    """The server; it runs during a ``with`` inside the node's network."""

    def __init__(self, addresses: Addresses) -> None:
        """``addresses`` is called for each question."""
        self._addresses = addresses
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._serve, name="dns", daemon=True)

    def __enter__(self) -> Self:
        """Listen."""
        self._socket.bind((ADDRESS, PORT))
        self._thread.start()
        return self

    def __exit__(self, *_reason: object) -> None:
        """Stop listening."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (ADDRESS, PORT))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(DATAGRAM_MAX)
            if not query:
                return
            if reply := answer(query, self._addresses):
                self._socket.sendto(reply, sender)
