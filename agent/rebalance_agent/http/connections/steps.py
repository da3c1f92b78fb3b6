"""Moves connections through their phases: handshake, head, body, answer, end. Nothing blocks.

Workers get requests with their bodies, and answers are sent as clients read them: no worker ever waits for a client.
"""

from __future__ import annotations

import contextlib
import logging
import math
import selectors
import socket
import ssl
import struct
from collections import deque
from collections.abc import Callable, Sequence

from rebalance_agent.clock import Clock
from rebalance_agent.http.connections.connection import Connection, Limits, Phase
from rebalance_agent.http.connections.outgoing import Outgoing, not_taken
from rebalance_agent.http.connections.places import (
    longest_of_most,
    requests_held,
    slowest_reader,
    slowest_sender,
    urgent_held,
)
from rebalance_agent.http.exchange import END_OF_HEAD, HEAD_BYTES_MAX, HttpApplication, RequestRefusedError, refusal
from rebalance_agent.http.messages import CHUNK_BYTES
from rebalance_agent.http.server_tls import ServerTls

__all__ = ["ConnectionSteps"]

DRAIN_SECONDS = 1.0
"""Seconds for the client to close the connection after its last answer was sent: closing a socket with unread input
would also discard bytes that were sent."""

SENT_MAX = 8 * CHUNK_BYTES
"""Maximum number of bytes of one answer sent before other connections get a turn; that takes a few milliseconds. While
other threads compute, waiting for the turns of all others takes longer, so smaller parts would delay large answers."""

GROWTH_BYTES = 8 * 1024
"""Bytes of a body that count as progress, which keeps the connection open: single bytes do not count."""

_READ_BYTES = HEAD_BYTES_MAX
_DISCARD = struct.pack("ii", 1, 0)
_TLS_RECORD = 0x16  # the first byte of a TLS handshake; no request line begins with it
_LATE = {
    Phase.HANDSHAKE: "slow_head",
    Phase.HEAD: "slow_head",
    Phase.BODY: "slow_body",
    Phase.ANSWER: "slow_answer",
}

_log = logging.getLogger(__name__)


class ConnectionSteps:
    """Moves connections to their next phases, within the bounds of their listener.

    ``open``: all connections. ``ready``: those with complete requests that wait for a thread, urgent requests first.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        application: HttpApplication,
        limits: Limits,
        clock: Clock,
        tls: ServerTls | None,
        on_cut: Callable[[str], None],
    ) -> None:
        """``selector`` waits for the connections; the data of each key is the connection."""
        self._selector, self._application, self._limits = selector, application, limits
        self._clock, self._tls, self._on_cut = clock, tls, on_cut
        self.open: dict[Connection, None] = {}
        self.ready: deque[Connection] = deque()

    def take_in(self, accepted: socket.socket, address: tuple[str, int]) -> None:
        """Add a new connection; if there are too many, close another connection, or refuse the new one."""
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            # Head and body are sent separately; Nagle's algorithm would delay the body until the head is acknowledged.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.open) >= self._limits.connections and not self.make_room():
            with contextlib.suppress(OSError):
                accepted.send(refusal("503 Service Unavailable", "too many connections"))
            accepted.close()
            self._on_cut("refused")
            return
        connection = Connection(accepted, address, fd=accepted.fileno())
        self.open[connection] = None
        self._await(connection, Phase.HANDSHAKE if self._tls else Phase.HEAD, self._limits.head_seconds)
        self._selector.register(connection.fd, selectors.EVENT_READ, connection)

    def make_room(self) -> bool:
        """End a connection that waits for its client; return False if there is no such connection."""
        longest = longest_of_most(self.open)
        if longest is None:
            return False
        self._put_out(longest)
        return True

    def resume(self, connection: Connection) -> None:
        """Continue with a connection whose request was answered; the rest of the answer is still to be sent."""
        self._selector.register(connection.fd, selectors.EVENT_READ, connection)
        self._await(connection, Phase.ANSWER, self._limits.answer_seconds)
        self._bound_answers()
        if connection in self.open:
            self.advance(connection)

    def end_overdue(self) -> None:
        """End the connections whose phase has lasted too long."""
        now = self._clock.monotonic()
        for connection in [connection for connection in self.open if connection.deadline <= now]:
            draining = connection.phase is Phase.DRAIN and now < connection.since + self._limits.answer_seconds
            if draining and not_taken(connection.socket):
                connection.deadline = now + DRAIN_SECONDS
                continue
            if reason := _LATE.get(connection.phase):
                self._on_cut(reason)
            if connection.phase in (Phase.HEAD, Phase.BODY):
                with contextlib.suppress(OSError):
                    connection.socket.send(refusal("408 Request Timeout", "the request did not arrive in time"))
                self._drain(connection)
            else:
                self.end(connection)

    def end(self, connection: Connection) -> None:
        """Close a connection that no worker uses. Bytes that the client has not read yet are discarded."""
        del self.open[connection]
        if not_taken(connection.socket):
            # Otherwise the kernel would keep these bytes for minutes, for any number of closed connections.
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DISCARD)
        self._selector.unregister(connection.fd)
        connection.socket.close()

    def advance(self, connection: Connection) -> None:
        """Read or send as much as possible, and move to the next phase; end a connection that the client closed."""
        try:
            if connection.phase is Phase.ANSWER:
                self._send(connection)
                return
            if connection.phase is Phase.HANDSHAKE and not self._handshake(connection):
                return
            while piece := connection.socket.recv(_READ_BYTES):
                if connection.phase is Phase.DRAIN or self._take(connection, piece):
                    return
            if connection.phase is Phase.BODY:
                self._refuse(connection, [refusal("400 Bad Request", "the body ended early")])
                return
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as waits:
            # TLS reports whether it waits to read or to send; without TLS, only answers wait to be sent.
            sends = connection.phase is Phase.ANSWER and isinstance(waits, BlockingIOError)
            sends |= isinstance(waits, ssl.SSLWantWriteError)
            self._watch(connection, selectors.EVENT_WRITE if sends else selectors.EVENT_READ)
            return
        except OSError as error:
            _log.debug("connection of %s: %s", connection.address, error)
        except Exception:  # noqa: BLE001
            _log.exception("connection of %s", connection.address)
        self.end(connection)

    def _handshake(self, connection: Connection) -> bool:
        """Continue the TLS handshake; return True when complete; raise ``SSLWantReadError`` while bytes are missing."""
        if not connection.tls and self._tls:
            first = connection.socket.recv(1, socket.MSG_PEEK)
            if first and first[0] != _TLS_RECORD:
                connection.socket.send(refusal("400 Bad Request", "this port uses HTTPS"))
                self._drain(connection)
                return False
            connection.socket = self._tls.wrap(connection.socket)
            connection.tls = True
        if isinstance(connection.socket, ssl.SSLSocket):
            connection.socket.do_handshake()
        connection.phase = Phase.HEAD
        return True

    def _take(self, connection: Connection, piece: bytes) -> bool:
        """Add ``piece`` to the request; return True when no more is to be read: it is complete or refused."""
        if connection.phase is Phase.BODY and connection.exchange:
            before = connection.body_bytes
            connection.exchange.receive(piece)
            if connection.body_bytes // GROWTH_BYTES > before // GROWTH_BYTES:
                connection.since = self._clock.monotonic()
            return self._bound_bodies(connection)
        if connection.phase is Phase.IDLE:
            self._await(connection, Phase.HEAD, self._limits.head_seconds)
        connection.head += piece
        if END_OF_HEAD not in connection.head and len(connection.head) <= HEAD_BYTES_MAX:
            return False
        sent, connection.head = bytes(connection.head), bytearray()
        try:
            connection.exchange = self._application.begin(sent)
        except RequestRefusedError as refused:
            self._refuse(connection, refused.pieces)
            return True
        self._await(connection, Phase.BODY, self._limits.body_seconds)
        if connection.exchange.waits:
            connection.socket.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self._bound_bodies(connection)

    def _refuse(self, connection: Connection, pieces: Sequence[bytes]) -> None:
        """Send the last answer of a connection whose request does not go to a worker."""
        connection.exchange, connection.outgoing = None, Outgoing(pieces)
        self._await(connection, Phase.ANSWER, self._limits.answer_seconds)
        self._send(connection)

    def _bound_bodies(self, connection: Connection) -> bool:
        """Queue a complete request; close connections if all bodies have too many bytes. Return the same as `_take`."""
        while sum(each.body_bytes for each in self.open) > self._limits.bodies_bytes:
            slowest = slowest_sender(self.open) or connection
            self._put_out(slowest)
            if slowest is connection:
                return True
        if connection.exchange and connection.exchange.complete:
            self._enqueue(connection)
            return True
        return False

    def _enqueue(self, connection: Connection) -> None:
        """Queue a request for a worker, or refuse it if there are too many."""
        # Otherwise one client's urgent requests could hold all connections, and none could be ended for a new client.
        limit, host = self._limits.urgent_requests, connection.address[0]
        preferred = connection.urgent and urgent_held(self.open, host) < limit
        if not preferred and requests_held(self.open) >= self._limits.requests:
            slowest = slowest_reader(self.open, self._clock.monotonic())
            if slowest is None:
                self._on_cut("refused")
                with contextlib.suppress(OSError):
                    connection.socket.send(refusal("503 Service Unavailable", "too many requests"))
                self._drain(connection)
                return
            self._on_cut("slow_answer")
            self.end(slowest)
        self._selector.unregister(connection.fd)
        self._await(connection, Phase.WORKER, math.inf)
        if connection.urgent:
            self.ready.appendleft(connection)
        else:
            self.ready.append(connection)

    def _bound_answers(self) -> None:
        """Close connections of slow readers if answers in memory are too large; one answer of any size may stay."""
        sending = [
            connection for connection in self.open if connection.phase is Phase.ANSWER and connection.outgoing.held
        ]
        held = sum(connection.outgoing.held for connection in sending)
        now = self._clock.monotonic()
        while held > self._limits.answers_bytes and len(sending) > 1 and (slowest := slowest_reader(sending, now)):
            sending.remove(slowest)
            held -= slowest.outgoing.held
            self._on_cut("slow_answer")
            self.end(slowest)

    def _send(self, connection: Connection) -> None:
        """Send more bytes of the answer; after the last byte, continue with the next request."""
        if not connection.outgoing.send(connection.socket, SENT_MAX):
            self._watch(connection, selectors.EVENT_WRITE)
            return
        self._watch(connection, selectors.EVENT_READ)
        exchange, connection.exchange = connection.exchange, None
        if exchange is None or not exchange.lasting:
            self._drain(connection)
            return
        self._await(connection, Phase.IDLE, self._limits.idle_seconds)
        if not (exchange.ahead and self._take(connection, exchange.ahead)):
            self.advance(connection)

    def _watch(self, connection: Connection, event: int) -> None:
        if self._selector.get_key(connection.fd).events != event:
            self._selector.modify(connection.fd, event, connection)

    def _drain(self, connection: Connection) -> None:
        """Close our sending side, and wait `DRAIN_SECONDS` for the client to close the connection."""
        self._await(connection, Phase.DRAIN, DRAIN_SECONDS)
        connection.exchange = None
        with contextlib.suppress(OSError):
            if isinstance(connection.socket, ssl.SSLSocket):
                connection.socket.unwrap()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection.socket, socket.SHUT_WR)

    def _await(self, connection: Connection, phase: Phase, seconds: float) -> None:
        connection.phase = phase
        connection.since = self._clock.monotonic()
        connection.deadline = connection.since + seconds

    def _put_out(self, connection: Connection) -> None:
        if connection.phase is not Phase.DRAIN:
            self._on_cut("room")
        self.end(connection)
