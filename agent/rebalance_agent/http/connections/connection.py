"""The state of one client's connection, and the bounds of a listener."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from enum import Enum

from rebalance_agent.http.connections.outgoing import Outgoing
from rebalance_agent.http.exchange import Exchange

__all__ = ["Connection", "Limits", "Phase"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one listener.

    ``connections``: how many may be open. ``requests``: how many connections may have a request that waits for a worker
    or is being answered, or an answer that the client is reading. ``workers``: how many requests are answered at a
    time; urgent requests need no worker. ``urgent_requests``: how many urgent requests of one address are accepted
    beyond ``requests``. ``bodies_bytes``: bytes of all connections' bodies in memory;
    ``answers_bytes``: bytes of answers that clients have not read yet; one answer may exceed it. ``head_seconds``:
    longest time from a connection's start (or a request's first byte) to the end of the head. ``body_seconds``: longest
    time from there to the end of the body. ``answer_seconds``: longest time to read an answer. ``idle_seconds``:
    longest pause between requests.
    """

    connections: int = 256
    requests: int = 64
    workers: int = 3
    urgent_requests: int = 8
    bodies_bytes: int = 8 * 1024 * 1024
    answers_bytes: int = 32 * 1024 * 1024
    head_seconds: float = 5.0
    body_seconds: float = 10.0
    answer_seconds: float = 60.0
    idle_seconds: float = 60.0


class Phase(Enum):
    """The state of a connection. ``WORKER``: a worker answers the request, or the request waits for a worker."""

    HANDSHAKE = "handshake"
    HEAD = "head"
    BODY = "body"
    WORKER = "worker"
    ANSWER = "answer"
    IDLE = "idle"
    DRAIN = "drain"

    @property
    def holds_request(self) -> bool:
        """Whether a complete request or its answer is in memory."""
        return self in (Phase.WORKER, Phase.ANSWER)


@dataclass(eq=False, slots=True)
class Connection:
    """One client's connection.

    ``head``: the bytes of a request's head that were read so far; ``exchange``: the request whose head is complete;
    ``outgoing``: the rest of the answer. ``tls``: whether the connection is encrypted. ``since`` and ``deadline``: when
    the phase began (or the body last grew much) and must end, in monotonic seconds.
    """

    socket: socket.socket
    address: tuple[str, int]
    tls: bool = False
    head: bytearray = field(default_factory=bytearray)
    exchange: Exchange | None = None
    outgoing: Outgoing = field(default_factory=Outgoing)
    phase: Phase = Phase.HEAD
    deadline: float = 0.0
    since: float = 0.0
    fd: int = -1

    @property
    def body_bytes(self) -> int:
        """The number of the body's bytes in memory."""
        return len(self.exchange.body) if self.exchange else 0

    @property
    def urgent(self) -> bool:
        """Whether the request need not wait for a worker."""
        return self.exchange is not None and self.exchange.urgent
