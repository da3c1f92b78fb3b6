"""The state of one client's connection, and the bounds of a listener."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["HEAD_BYTES_MAX", "Connection", "Limits", "Phase", "cut", "refusal"]

HEAD_BYTES_MAX = 16 * 1024
"""Maximum number of bytes of a request's line and headers: room for a bearer token and for what proxies add."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one listener.

    ``connections``: most open connections; for a new one beyond that, the one that has waited longest is ended.
    ``workers``: most requests answered at a time; urgent ones need none. ``head_seconds``: longest time from a
    connection's start (or a request's first byte) to the end of the head. ``idle_seconds``: longest pause between two
    requests.
    ``wait_seconds``: longest wait of one read or send. ``request_seconds``: longest time for body and answer;
    ``contended_seconds``: the same while other requests wait for a worker.
    """

    connections: int = 256
    workers: int = 3
    head_seconds: float = 5.0
    idle_seconds: float = 60.0
    wait_seconds: float = 10.0
    request_seconds: float = 60.0
    contended_seconds: float = 1.0


class Phase(Enum):
    """The state of a connection. ``WORKER``: a worker answers its request, or the request waits for one."""

    HANDSHAKE = "handshake"
    HEAD = "head"
    IDLE = "idle"
    WORKER = "worker"
    DRAIN = "drain"


@dataclass(eq=False, slots=True)
class Connection:
    """One client's connection.

    ``head``: bytes read so far; ``tls``: it is encrypted. ``since`` and ``deadline``: when its phase began and must
    end, in monotonic seconds. ``running``: a worker handles it now; ``urgent``: it need not wait for a worker.
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
    """Shut the socket down, which ends every wait on it. Only the connection's own worker or thread may close it."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)


def refusal(status: str, text: str) -> bytes:
    """A complete answer, as bytes, to a client whose request was never read to the end."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text) + 1}\r\nConnection: close"
    return f"{head}\r\n\r\n{text}\n".encode()
