"""Runs a bounded HTTP server for an application, with its own handling of connections; h11 parses HTTP."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import ListenError
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.connections.threads import Connections
from rebalance_agent.http.exchange import HttpApplication
from rebalance_agent.http.messages import Application, Request, Response
from rebalance_agent.http.server_tls import ServerTls

__all__ = ["HttpServer"]

BACKLOG_MAX = 128
"""Maximum number of connections that the kernel holds until they are accepted, which takes a moment."""

SEND_BUFFER_BYTES = 256 * 1024
"""Bytes of an answer that the kernel buffers before the client reads them. The kernel's default is megabytes per
connection, which count as the container's memory."""

STOP_SECONDS = 2.0
"""Longest wait for answers that are being sent at stop, in seconds."""


class HttpServer:
    """Serves ``app`` on ``host``:``port`` (0: any free port) in separate threads, over TLS if ``tls`` is given."""

    def __init__(
        self,
        host: str,
        port: int,
        app: Application,
        *,
        refuse: Callable[[Request], Response | None] = lambda _head: None,
        body_bytes_max: int = 1024,
        limits: Limits | None = None,
        tls: ServerTls | None = None,
        clock: Clock | None = None,
        urgent: tuple[str, ...] = (),
        on_cut: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """``body_bytes_max`` bounds request bodies, not answers.

        ``refuse``, ``urgent``: see `HttpApplication`; ``on_cut``: see `Connections`.
        """
        self._address, self._app, self._refuse, self._body_bytes_max = (host, port), app, refuse, body_bytes_max
        self._limits, self._tls, self._clock = limits or Limits(), tls, clock or SystemClock()
        self._urgent, self._on_cut = urgent, on_cut
        self._connections: Connections | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port; 0 until connections are accepted."""
        return self._port

    def start(self) -> None:
        """Listen, and serve in the background: from now on, connections are accepted.

        Raises:
            ListenError: the address is in use, does not belong to this machine, or is not allowed.
        """
        try:
            listener = _listen(*self._address)
        except OSError as error:
            host, port = self._address
            # The text of create_server() repeats the address.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or error
            raise ListenError(f"{host}:{port}", reason) from error
        application = HttpApplication(
            self._app,
            self._refuse,
            body_bytes_max=self._body_bytes_max,
            idle_seconds=self._limits.idle_seconds,
            urgent=self._urgent,
        )
        self._connections = Connections(listener, application, self._limits, self._clock, self._tls, self._on_cut)
        self._connections.start()
        self._port = int(listener.getsockname()[1])

    def stop(self) -> None:
        """Accept no more connections, wait `STOP_SECONDS` for answers, and free the port. May be called twice."""
        connections, self._connections = self._connections, None
        if connections:
            connections.stop(STOP_SECONDS)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; ``::`` also accepts IPv4.

    Raises:
        OSError: the address does not belong to this machine, or is in use.
    """
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = addresses[0]
    both = family is socket.AF_INET6 and host in ("", "::") and socket.has_dualstack_ipv6()
    listener = socket.create_server(address[:2], family=family, backlog=BACKLOG_MAX, dualstack_ipv6=both)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    return listener
