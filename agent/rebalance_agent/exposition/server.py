"""A bounded HTTP server around a WSGI application."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from typing import Any
from wsgiref.types import WSGIApplication

from cheroot.server import HTTPConnection, HTTPRequest
from cheroot.wsgi import Server

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["HttpServer", "ListenError"]

HEADER_BYTES_MAX = 16 * 1024
"""Request line and headers: a bearer token and what proxies add."""

BACKLOG_MAX = 64
"""Connections that wait to be accepted; a scraper and a few consumers are all that is expected."""

QUEUE_MAX = 64
"""Accepted connections that wait for a thread."""

_log = logging.getLogger(__name__)


class ListenError(RebalanceAgentError):
    """The address cannot be listened on."""


class _Request(HTTPRequest):
    """A request whose body, if the application left it unread, is never taken for the next request."""

    def send_headers(self) -> None:
        """Close after a chunked body: cheroot reads away only bodies whose length it knows."""
        self.close_connection = self.close_connection or bool(self.chunked_read)
        super().send_headers()


class _Connection(HTTPConnection):
    """A connection on which a request has one deadline: cheroot's timeout begins anew with every byte that comes."""

    RequestHandlerClass = _Request

    def communicate(self) -> Any:  # noqa: ANN401 - cheroot's
        """Answer one request; when its time is over the socket is shut, which ends every wait on it."""
        timer = threading.Timer(self.server.request_seconds_max, self._cut)
        timer.daemon = True
        timer.start()
        try:
            return super().communicate()  # type: ignore[no-untyped-call]
        finally:
            timer.cancel()

    def _cut(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class _Server(Server):
    """Cheroot, quiet: requests are not logged, its own troubles go to ``logging``."""

    version = "rebalance-agent"
    ConnectionClass = _Connection
    request_seconds_max = 60.0

    @staticmethod
    def bind_socket(socket_: socket.socket, bind_addr: tuple[str, int]) -> socket.socket:
        """Bind; cheroot would leave the socket open when that fails."""
        try:
            socket_.bind(bind_addr)
        except OSError:
            socket_.close()
            raise
        return socket_

    def error_log(self, msg: str = "", level: int = 20, traceback: bool = False) -> None:
        """What cheroot would write to stderr."""
        _log.log(level, msg or "http server", exc_info=traceback)


class HttpServer:
    """Serves ``app`` on ``host``:``port`` (0: any free one) from a few threads of its own.

    A client may be silent for ``timeout_seconds`` at most, and a request with its answer take ``request_seconds_max``:
    a slow client holds a thread for no longer.
    """

    def __init__(
        self,
        host: str,
        port: int,
        app: WSGIApplication,
        *,
        threads: int = 4,
        body_bytes_max: int = 1024,
        timeout_seconds: int = 10,
        request_seconds_max: float = 60.0,
    ) -> None:
        """``body_bytes_max`` bounds request bodies; answers are not bounded."""
        self._server: Any = _Server(
            (host, port),
            app,
            numthreads=threads,
            max=threads,
            request_queue_size=BACKLOG_MAX,
            accepted_queue_size=QUEUE_MAX,
            timeout=timeout_seconds,
            shutdown_timeout=2,
        )
        self._server.request_seconds_max = request_seconds_max
        self._server.max_request_header_size = HEADER_BYTES_MAX
        self._server.max_request_body_size = body_bytes_max
        self._thread = threading.Thread(target=self._server.serve, name=f"http-{port}", daemon=True)
        self._port = 0

    @property
    def port(self) -> int:
        """The port; 0 until connections are taken."""
        return self._port

    def start(self) -> None:
        """Listen, and serve in the background: connections are taken from now on.

        Raises:
            ListenError: the address is in use, not this machine's, or not allowed.
        """
        host, port = self._server.bind_addr
        try:
            self._server.prepare()
        except OSError as error:
            raise ListenError(f"cannot listen on {host}:{port}: {error}") from error
        self._port = int(self._server.bind_addr[1])
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, finish what runs (for two seconds), and free the port. May be called twice."""
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join()
