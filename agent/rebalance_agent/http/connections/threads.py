"""Runs a listener's threads: they take turns waiting for all connections; only complete requests occupy a thread.

Therefore a client that sends nothing, sends single bytes, reads its answer slowly, or is slow in its TLS handshake
costs memory, within the listener's bounds, but no thread. ``open_connections`` waits for the clients; ``steps``
handles each client.

The threads are all alike. One thread waits for the connections; when a request is complete, this thread
lets a free thread wait, and answers the request itself. So a request moves to another thread only if all other threads
are answering: on a machine with more runnable threads than cores, each such move costs tens of milliseconds.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable

from rebalance_agent.clock import Clock
from rebalance_agent.http.connections.connection import Connection, Limits
from rebalance_agent.http.connections.open_connections import OpenConnections
from rebalance_agent.http.connections.outgoing import Outgoing
from rebalance_agent.http.exchange import HttpApplication
from rebalance_agent.http.server_tls import ServerTls

__all__ = ["Connections"]

_log = logging.getLogger(__name__)


class Connections:
    """The connections of a listener, served by threads that take turns to wait for all of them."""

    def __init__(
        self,
        listener: socket.socket,
        application: HttpApplication,
        limits: Limits,
        clock: Clock,
        tls: ServerTls | None = None,
        on_cut: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """``application`` answers in several threads; it answers urgent requests in the waiting thread.

        ``on_cut`` is called with the reason when a connection is ended early: slow_head, slow_body, slow_answer, room,
        or refused.
        """
        self._application, self._clock = application, clock
        self._stopping = threading.Event()
        self._connections = OpenConnections(listener, application, limits, clock, tls, on_cut, self._stopping)
        self._ready = self._connections.ready
        self._turn = threading.Condition()
        self._waiting, self._free = False, 0
        name = f"http-{listener.getsockname()[1]}"
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True)
            for number in range(limits.workers + 1)
        ]

    def start(self) -> None:
        """Accept connections, in separate threads."""
        self._connections.start()
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Accept no more connections, wait up to ``seconds`` for the answers, and end every connection.

        Do not wait for a thread that is still computing an answer after that: it ends with the process.
        """
        self._stopping.set()
        self._connections.wake()
        end = self._clock.monotonic() + seconds
        with self._turn:
            self._turn.wait_for(lambda: not self._waiting, seconds)
            waits_on = self._waiting  # the waiting thread computes an urgent answer that does not end
            self._turn.notify_all()
        if not waits_on:
            self._connections.finish(max(0.0, end - self._clock.monotonic()))
        for thread in self._threads:
            thread.join(max(0.0, end - self._clock.monotonic()))
        self._connections.close()

    def _serve(self) -> None:
        while connection := self._next():
            self._work(connection)
            self._connections.wake()

    def _next(self) -> Connection | None:
        """Return the next request for this thread, perhaps after a wait for connections; None at the end."""
        with self._turn:
            self._free += 1
            self._turn.wait_for(lambda: self._ready or not self._waiting)
            self._free -= 1
            if self._stopping.is_set() or self._waiting:
                return self._ready.popleft() if self._ready else None
            self._waiting = True
        return self._wait()

    def _work(self, connection: Connection) -> None:
        try:
            if connection.exchange:
                connection.outgoing = Outgoing(self._application.answer(connection.exchange))
                # Bytes that fit into the kernel's buffer are sent here: most answers fit, and need no other thread.
                with contextlib.suppress(OSError):
                    connection.outgoing.send(connection.socket, connection.outgoing.left)
        except Exception:  # noqa: BLE001
            _log.exception("a request failed")
            connection.exchange = None  # which ends the connection
        self._connections.answered(connection)

    def _wait(self) -> Connection | None:
        """Wait for all connections until another thread can wait; return this thread's request, None at the end."""
        while not self._stopping.is_set():
            try:
                self._connections.poll()
            except Exception:  # noqa: BLE001 - one connection's error must not end the others
                _log.exception("a connection failed")
            with self._turn:
                # `stop` may wait for the end of this wait: then all threads are notified, not only as many as there are
                # requests.
                if self._ready and self._free and not self._stopping.is_set():
                    self._waiting = False
                    self._turn.notify(len(self._ready))
                    return self._ready.popleft()
                urgent = self._ready.popleft() if self._ready and self._ready[0].urgent else None
            if urgent:
                self._work(urgent)
        with self._turn:
            self._waiting = False
            self._turn.notify_all()
        return None
