"""The open connections of a listener, for the thread that waits for all of them: only the selector blocks it.

It reads request heads and puts complete ones into a queue, and ends connections that are slow or too many. It knows
nothing of HTTP but where a head ends, and no threads but by that queue.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import re
import selectors
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable

from rebalance_agent.clock import Clock
from rebalance_agent.http.connection import HEAD_BYTES_MAX, Connection, Limits, Phase, cut, refusal
from rebalance_agent.http.server_tls import ServerTls

__all__ = ["OpenConnections"]

TICK_S, IDLE_TICK_S = 0.1, 1.0
"""Longest wait of the selector, in seconds, with and without requests that wait for a thread."""

DRAIN_SECONDS = 1.0
"""Seconds for the client to read its last answer: closing a socket with unread input discards what was sent, too."""

_READ_BYTES = HEAD_BYTES_MAX
_TLS_RECORD = 0x16  # the first byte of a TLS handshake; no request line begins with it
_END_OF_HEAD = b"\r\n\r\n"
_BODY = re.compile(rb"\r\n(content-length|transfer-encoding)[ \t]*:", re.IGNORECASE)
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_log = logging.getLogger(__name__)


class OpenConnections:
    """Accepts connections, reads request heads, and ends connections.

    ``ready``: connections whose request is complete, urgent ones first; `answered` returns one after its answer.
    """

    def __init__(
        self,
        listener: socket.socket,
        limits: Limits,
        clock: Clock,
        tls: ServerTls | None,
        urgent: tuple[str, ...],
        on_cut: Callable[[str], None],
        stopping: threading.Event,
    ) -> None:
        """Arguments as of `Connections`; ``stopping`` ends a pause of `poll`."""
        self._urgent, self._on_cut = tuple(f"GET {path} ".encode() for path in urgent), on_cut
        self._listener, self._limits, self._clock, self._tls = listener, limits, clock, tls
        self._stopping = stopping
        self._selector = selectors.DefaultSelector()
        self._open: dict[Connection, None] = {}
        self.ready: deque[Connection] = deque()
        self._done: deque[tuple[Connection, bytes | None]] = deque()
        self._wake_end, self._wait_end = socket.socketpair()

    def start(self) -> None:
        """Watch the listener."""
        for endpoint in (self._listener, self._wait_end, self._wake_end):
            endpoint.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wait_end, selectors.EVENT_READ)

    # From any thread.

    def answered(self, connection: Connection, ahead: bytes | None) -> None:
        """Take a connection back; ``ahead``: the bytes read beyond its request, or None to end the connection."""
        self._done.append((connection, ahead))

    def wake(self) -> None:
        """End the wait of `poll`."""
        with contextlib.suppress(OSError):
            self._wake_end.send(b".")

    # At the end, when no thread waits any more.

    def end_waiting(self) -> None:
        """Accept no more connections, and end those that no worker has."""
        for connection in tuple(self._open):
            if connection.phase is not Phase.WORKER:
                self._end(connection)
        self._selector.close()
        self._listener.close()

    def cut(self) -> None:
        """End the waits of the workers."""
        for connection in tuple(self._open):
            cut(connection)

    def close(self) -> None:
        """Close what is left, after the last worker has ended."""
        for connection in tuple(self._open):
            connection.socket.close()
        self._open.clear()
        self._wake_end.close()
        self._wait_end.close()

    # What follows is for the thread that waits. Nothing blocks it but the selector.

    def poll(self) -> None:
        """Wait until something happens or is due, and deal with it."""
        for key, _ in self._selector.select(self._patience_s()):
            if key.data is not None:
                if key.data in self._open:  # `_make_room` may have ended it in this round
                    self._advance(key.data)
            elif key.fileobj is self._listener:
                self._accept()
            else:
                with contextlib.suppress(BlockingIOError):
                    self._wait_end.recv(_READ_BYTES)
        while self._done:
            self._resume(*self._done.popleft())
        self._end_overdue()

    def _patience_s(self) -> float:
        """Seconds until the next deadline, within bounds."""
        if self._done:
            return 0.0
        if self.ready:
            return TICK_S
        first = min((connection.deadline for connection in self._open), default=math.inf)
        return min(max(first - self._clock.monotonic(), 0.0), IDLE_TICK_S)

    def _accept(self) -> None:
        try:
            accepted, address = self._listener.accept()
        except OSError as error:
            # The client is gone; or no file descriptor is left, and the kernel keeps new connections waiting.
            if error.errno in _EXHAUSTED and not self._make_room():
                self._stopping.wait(TICK_S)
            return
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            # Head and body are sent separately; Nagle's algorithm would delay the body until the head is acknowledged.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._open) >= self._limits.connections and not self._make_room():
            with contextlib.suppress(OSError):
                accepted.send(refusal("503 Service Unavailable", "too many connections"))
            accepted.close()
            self._on_cut("refused")
            return
        connection = Connection(accepted, address[:2], fd=accepted.fileno())
        self._open[connection] = None
        self._await(connection, Phase.HANDSHAKE if self._tls else Phase.HEAD, self._limits.head_seconds)
        self._selector.register(connection.fd, selectors.EVENT_READ, connection)

    def _make_room(self) -> bool:
        """End the connection that has waited longest outside a worker; False where there is none."""
        waiting = (connection for connection in self._open if connection.phase is not Phase.WORKER)
        longest = min(waiting, key=lambda connection: connection.since, default=None)
        if longest is None:
            return False
        if longest.phase is not Phase.DRAIN:
            self._on_cut("room")
        self._end(longest)
        return True

    def _await(self, connection: Connection, phase: Phase, seconds: float) -> None:
        connection.phase = phase
        connection.since = self._clock.monotonic()
        connection.deadline = connection.since + seconds

    def _advance(self, connection: Connection) -> None:
        """Read what has arrived, and move the connection on; end it where the client has closed it."""
        try:
            if connection.phase is Phase.HANDSHAKE and not self._handshake(connection):
                return
            while piece := connection.socket.recv(_READ_BYTES):
                if connection.phase is Phase.DRAIN or self._add_to_head(connection, piece):
                    return
        except (BlockingIOError, ssl.SSLWantReadError):
            self._watch(connection, selectors.EVENT_READ)
            return
        except ssl.SSLWantWriteError:
            self._watch(connection, selectors.EVENT_WRITE)
            return
        except OSError as error:
            _log.debug("connection of %s: %s", connection.address, error)
        except Exception:  # noqa: BLE001
            _log.exception("connection of %s", connection.address)
        self._end(connection)

    def _handshake(self, connection: Connection) -> bool:
        """Continue the TLS handshake; True once it is complete, ``SSLWantReadError`` while bytes are missing."""
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

    def _add_to_head(self, connection: Connection, piece: bytes) -> bool:
        """Add to the head; True once a worker has it: it is complete, or too long, which the worker answers."""
        if connection.phase is Phase.IDLE:
            self._await(connection, Phase.HEAD, self._limits.head_seconds)
        connection.head += piece
        if _END_OF_HEAD not in connection.head and len(connection.head) <= HEAD_BYTES_MAX:
            return False
        self._selector.unregister(connection.fd)
        connection.socket.settimeout(self._limits.wait_seconds)
        self._await(connection, Phase.WORKER, self._limits.request_seconds)
        # A request with a body is not urgent: the thread that waits would wait for the body.
        urgent = bool(self._urgent) and connection.head.startswith(self._urgent)
        connection.urgent = urgent and not _BODY.search(connection.head)
        if connection.urgent:
            connection.socket.settimeout(TICK_S)
            self.ready.appendleft(connection)
        else:
            self.ready.append(connection)
        return True

    def _resume(self, connection: Connection, ahead: bytes | None) -> None:
        """Wait again for a connection that a worker has answered; ``ahead`` as from ``answer``."""
        connection.socket.settimeout(0.0)
        self._selector.register(connection.fd, selectors.EVENT_READ, connection)
        if ahead is None:
            self._drain(connection)
            return
        connection.head = bytearray()
        self._await(connection, Phase.IDLE, self._limits.idle_seconds)
        if not (ahead and self._add_to_head(connection, ahead)):
            self._advance(connection)

    def _watch(self, connection: Connection, event: int) -> None:
        if self._selector.get_key(connection.fd).events != event:
            self._selector.modify(connection.fd, event, connection)

    def _drain(self, connection: Connection) -> None:
        """Close our sending side, and wait `DRAIN_SECONDS` for the client to close the connection."""
        self._await(connection, Phase.DRAIN, DRAIN_SECONDS)
        with contextlib.suppress(OSError):
            if isinstance(connection.socket, ssl.SSLSocket):
                connection.socket.unwrap()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection.socket, socket.SHUT_WR)

    def _end(self, connection: Connection) -> None:
        del self._open[connection]
        self._selector.unregister(connection.fd)
        connection.socket.close()

    def _end_overdue(self) -> None:
        now = self._clock.monotonic()
        for connection in [connection for connection in self._open if connection.deadline <= now]:
            if connection.phase is Phase.WORKER:
                self._cut_answer(connection)
                continue
            if connection.phase in (Phase.HANDSHAKE, Phase.HEAD):
                self._on_cut("slow_head")
            if connection.phase is Phase.HEAD:
                with contextlib.suppress(OSError):
                    connection.socket.send(refusal("408 Request Timeout", "the request did not come"))
                self._drain(connection)
            else:
                self._end(connection)
        if queued := len(self.ready):
            before = now - self._limits.contended_seconds
            slow = (connection for connection in self._open if connection.running and connection.since < before)
            for connection in sorted(slow, key=lambda connection: connection.since)[:queued]:
                self._cut_answer(connection)

    def _cut_answer(self, connection: Connection) -> None:
        """End the waits of its worker, which then returns the connection."""
        cut(connection)
        connection.deadline, connection.running = math.inf, False
        self._on_cut("slow_answer")
