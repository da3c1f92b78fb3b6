"""One client's connection, and the bounds of all that a listener has."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["HEAD_BYTES_MAX", "Connection", "Limits", "Phase", "cut", "refusal"]

HEAD_BYTES_MAX = 16 * 1024
"""Request line and headers: a bearer token and what proxies add."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one listener.

    ``connections``: open at a time; who has kept us waiting the longest makes room for a new one. ``workers``: requests
    answered at a time. ``head_seconds``: from a connection's beginning (or a request's first byte) to the end of the
    head. ``idle_seconds``: between two requests. ``wait_seconds``: each wait for a body's bytes or for room to send.
    ``request_seconds``: for body and answer; ``patience_seconds``: the same when others wait for a worker.
    """

    connections: int = 256
    workers: int = 16
    head_seconds: float = 5.0
    idle_seconds: float = 60.0
    wait_seconds: float = 10.0
    request_seconds: float = 60.0
    patience_seconds: float = 1.0


class Phase(Enum):
    """What a connection is at. ``WORKER``: it has a worker, or waits for one."""

    HANDSHAKE = "handshake"
    HEAD = "head"
    IDLE = "idle"
    WORKER = "worker"
    DRAIN = "drain"


@dataclass(eq=False, slots=True)
class Connection:
    """A client's connection. ``head``: bytes that are read already; ``tls``: it is encrypted.

    ``since``: when what it is at began; ``deadline``: when that must be over; ``running``: a worker is at it;
    ``urgent``: that worker, or the one it waits for, is the one for urgent requests.
    """

    socket: socket.socket
    address: tuple[str, int]
    tls: bool = False
    head: bytearray = field(default_factory=bytearray)
    phase: Phase = Phase.HEAD
    deadline: float = 0.0
    since: float = 0.0
    running: bool = False
    urgent: bool = False
    fd: int = -1


def cut(connection: Connection) -> None:
    """End every wait on a connection that a worker has; closing it is not for another thread."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)


def refusal(status: str, text: str) -> bytes:
    """An answer to what never became a request."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text) + 1}\r\nConnection: close"
    return f"{head}\r\n\r\n{text}\n".encode()
