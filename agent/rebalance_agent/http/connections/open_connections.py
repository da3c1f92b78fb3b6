"""Manages a listener's open connections, for the thread that waits for them: only the selector blocks the thread."""

from __future__ import annotations

import contextlib
import errno
import math
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable

from rebalance_agent.clock import Clock
from rebalance_agent.http.connections.connection import Connection, Limits
from rebalance_agent.http.connections.steps import ConnectionSteps
from rebalance_agent.http.exchange import HttpApplication
from rebalance_agent.http.server_tls import ServerTls

__all__ = ["OpenConnections"]

TICK_S, IDLE_TICK_S = 0.1, 1.0
"""Longest wait of the selector, in seconds, with and without requests that wait for a thread."""

ACCEPTED_MAX = 32
"""Maximum number of connections accepted in a row, before open connections have their turn."""

_WAKES_BYTES = 4_096
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class OpenConnections:
    """Accepts connections, waits for them, and calls `ConnectionSteps` for each connection that is ready or late.

    ``ready``: connections with complete requests, urgent requests first; `answered` takes a connection back.
    """

    def __init__(
        self,
        listener: socket.socket,
        application: HttpApplication,
        limits: Limits,
        clock: Clock,
        tls: ServerTls | None,
        on_cut: Callable[[str], None],
        stopping: threading.Event,
    ) -> None:
        """The arguments are those of `Connections`; ``stopping`` ends a pause of `poll`."""
        self._listener, self._clock, self._stopping = listener, clock, stopping
        self._selector = selectors.DefaultSelector()
        self._steps = ConnectionSteps(self._selector, application, limits, clock, tls, on_cut)
        self._open, self.ready = self._steps.open, self._steps.ready
        self._done: deque[Connection] = deque()
        self._wake_end, self._wait_end = socket.socketpair()

    def start(self) -> None:
        """Watch the listener."""
        for endpoint in (self._listener, self._wait_end, self._wake_end):
            endpoint.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wait_end, selectors.EVENT_READ)

    # Any thread may call the following methods.

    def answered(self, connection: Connection) -> None:
        """Take a connection back, with the unsent rest of the answer in ``outgoing``."""
        self._done.append(connection)

    def wake(self) -> None:
        """End the wait of `poll`."""
        with contextlib.suppress(OSError):
            self._wake_end.send(b".")

    # The thread that stops the others calls the following methods when no other thread waits any more.

    def finish(self, seconds: float) -> None:
        """Accept no more connections, end those without a request, and send answers for at most ``seconds``."""
        self._selector.unregister(self._listener)
        self._listener.close()
        end = self._clock.monotonic() + seconds
        while True:
            for connection in tuple(self._open):
                if not connection.phase.holds_request:
                    self._steps.end(connection)
            if not self._open or self._clock.monotonic() >= end:
                return
            self.poll(end - self._clock.monotonic())

    def close(self) -> None:
        """Close all connections and the listener."""
        self._listener.close()
        self._selector.close()
        for connection in tuple(self._open):
            connection.socket.close()
        self._open.clear()
        self._wake_end.close()
        self._wait_end.close()

    # The waiting thread calls the following methods. Only the selector blocks this thread.

    def poll(self, seconds_max: float = IDLE_TICK_S) -> None:
        """Wait at most ``seconds_max`` for events of connections or their deadlines, and handle them."""
        for key, _ in self._selector.select(max(0.0, min(self._patience_s(), seconds_max))):
            if key.data is not None:
                if key.data in self._open:  # the connection may have been closed in this round
                    self._steps.advance(key.data)
            elif key.fileobj is self._listener:
                self._accept()
            else:
                with contextlib.suppress(BlockingIOError):
                    self._wait_end.recv(_WAKES_BYTES)
        while self._done:
            self._steps.resume(self._done.popleft())
        self._steps.end_overdue()

    def _patience_s(self) -> float:
        """Return the seconds until the next deadline, within bounds."""
        if self._done:
            return 0.0
        if self.ready:
            return TICK_S
        first = min((connection.deadline for connection in self._open), default=math.inf)
        return min(max(first - self._clock.monotonic(), 0.0), IDLE_TICK_S)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_MAX):
            try:
                accepted, address = self._listener.accept()
            except OSError as error:
                # No more clients wait, or one is gone; or no file descriptor is left, and the kernel holds the others.
                if error.errno in _EXHAUSTED and not self._steps.make_room():
                    self._stopping.wait(TICK_S)
                return
            self._steps.take_in(accepted, address[:2])
