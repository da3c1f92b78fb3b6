"""A bounded HTTP server around a WSGI application: connections of its own, HTTP parsed by cheroot."""

from __future__ import annotations

import errno
import io
import logging
import os
import socket
import ssl
from collections.abc import Callable
from typing import Any
from wsgiref.types import WSGIApplication

from cheroot.server import HeaderReader, HTTPConnection, HTTPRequest
from cheroot.wsgi import Server

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import ListenError
from rebalance_agent.http.connection import HEAD_BYTES_MAX, Connection, Limits
from rebalance_agent.http.connections import Connections
from rebalance_agent.http.server_tls import ServerTls

__all__ = ["HttpServer"]

BACKLOG_MAX = 128
"""Most connections that the kernel holds until they are accepted, which takes a moment."""

STOP_SECONDS = 2.0
"""Longest wait at stop for answers that are being sent."""

_log = logging.getLogger(__name__)


class HttpServer:
    """Serves ``app`` on ``host``:``port`` (0: any free one) in threads of its own, over TLS where ``tls`` is given."""

    def __init__(
        self,
        host: str,
        port: int,
        app: WSGIApplication,
        *,
        body_bytes_max: int = 1024,
        limits: Limits | None = None,
        tls: ServerTls | None = None,
        clock: Clock | None = None,
        urgent: tuple[str, ...] = (),
        on_cut: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """``body_bytes_max`` bounds request bodies, not answers. ``urgent``, ``on_cut``: see `Connections`."""
        self._urgent, self._on_cut = urgent, on_cut
        self._address = (host, port)
        self._limits, self._tls, self._clock = limits or Limits(), tls, clock or SystemClock()
        self._http = _Http(self._address, app, server_name="rebalance-agent")
        self._http.timeout = round(self._limits.idle_seconds)  # cheroot sends it to clients of HTTP/1.0
        self._http.max_request_header_size = HEAD_BYTES_MAX
        self._http.max_request_body_size = body_bytes_max
        self._connections: Connections | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port; 0 until connections are accepted."""
        return self._port

    def start(self) -> None:
        """Listen, and serve in the background: connections are accepted from now on.

        Raises:
            ListenError: the address is in use, not this machine's, or not allowed.
        """
        try:
            listener = _listen(*self._address)
        except OSError as error:
            host, port = self._address
            # The text of create_server() repeats the address.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or error
            raise ListenError(f"cannot listen on {host}:{port}: {reason}") from error
        self._http.bind_addr = listener.getsockname()[:2]
        self._connections = Connections(
            listener,
            self._answer,
            self._limits,
            self._clock,
            tls=self._tls,
            urgent=self._urgent,
            on_cut=self._on_cut,
        )
        self._connections.start()
        self._port = int(self._http.bind_addr[1])

    def stop(self) -> None:
        """Accept no more connections, wait `STOP_SECONDS` for answers, and free the port. May be called twice."""
        connections, self._connections = self._connections, None
        if connections:
            connections.stop(STOP_SECONDS)

    def _answer(self, connection: Connection) -> bytes | None:
        incoming = _Incoming(connection)
        exchange: Any = _Exchange(self._http, connection.socket, incoming.file)
        exchange.remote_addr, exchange.remote_port = connection.address
        if connection.tls:
            exchange.ssl_env = {"wsgi.url_scheme": "https", "HTTPS": "on"}
        return incoming.ahead(exchange.rfile) if exchange.communicate() else None


class _Http(Server):
    """The server object that cheroot's requests need. It never listens by itself."""

    version = software = "rebalance-agent"
    can_add_keepalive_connection = True

    def error_log(self, msg: str = "", level: int = 20, traceback: bool = False) -> None:
        """Log what cheroot would write to stderr."""
        _log.log(level, msg or "http server", exc_info=traceback)


class _Headers(HeaderReader):
    """Refuses with 400 folded lines, at which cheroot's reader fails, and lengths like -1, +5 and 1_000."""

    def __call__(self, rfile: Any, hdict: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:  # noqa: ANN401
        headers: dict[bytes, bytes] = super().__call__(_Unfolded(rfile), hdict)
        if not headers.get(b"Content-Length", b"0").isdigit():
            raise ValueError("Malformed Content-Length Header.")
        return headers


class _Unfolded:
    """A reader that refuses folded header lines: obsolete since RFC 7230, and a way around filters."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401
        self._file = file

    def readline(self) -> bytes:
        line: bytes = self._file.readline()
        if line.startswith((b" ", b"\t")):
            raise ValueError("Folded header lines are refused.")
        return line


class _Request(HTTPRequest):
    """A request whose unread body is never taken for the next request."""

    header_reader = _Headers()

    def send_headers(self) -> None:
        """Close after a chunked body: cheroot skips only unread bodies whose length it knows."""
        self.close_connection = self.close_connection or bool(self.chunked_read)
        super().send_headers()


class _Exchange(HTTPConnection):
    """One request and its answer."""

    RequestHandlerClass = _Request


class _Incoming(io.RawIOBase):
    """The client's bytes: first those that were read with the head, then the socket's."""

    def __init__(self, connection: Connection) -> None:
        self._before, self._connection, self._ended = bytes(connection.head), connection, False

    def file(self, _socket: socket.socket, mode: str, _size: int) -> io.BufferedReader | _Outgoing:
        """The reader or the writer that cheroot asks for."""
        return io.BufferedReader(self) if "r" in mode else _Outgoing(self._connection)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a writable buffer has no type before Python 3.12
        if self._before:
            piece, self._before = self._before[: len(buffer)], self._before[len(buffer) :]
            buffer[: len(piece)] = piece
            return len(piece)
        if self._ended:
            return 0
        try:
            return self._connection.socket.recv_into(buffer)
        except ssl.SSLError as error:
            raise ConnectionResetError(errno.ECONNRESET, str(error)) from error

    def ahead(self, reader: io.BufferedReader) -> bytes:
        """The bytes read beyond the request, which begin the next one. Reads no more from the socket."""
        rest, self._before, self._ended = self._before, b"", True
        return reader.peek() + rest


class _Outgoing:
    """Sends every write at once and whole; one that the client does not take within the timeout ends the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def write(self, data: bytes) -> int:
        try:
            self._connection.socket.sendall(data)
        except ssl.SSLError as error:
            raise ConnectionResetError(errno.ECONNRESET, str(error)) from error
        return len(data)


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; ``::`` takes IPv4 as well.

    Raises:
        OSError: the address is not this machine's, or is in use.
    """
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = addresses[0]
    both = family is socket.AF_INET6 and host in ("", "::") and socket.has_dualstack_ipv6()
    return socket.create_server(address[:2], family=family, backlog=BACKLOG_MAX, dualstack_ipv6=both)
