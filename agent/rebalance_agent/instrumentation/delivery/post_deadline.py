"""Ends the exchange of one POST at its deadline, in any state of the connection."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Self

__all__ = ["PostDeadline"]


class PostDeadline:
    """A context manager that shuts `guard`'s socket down, from a separate thread, at the deadline.

    It keeps a duplicate of the socket: ``http.client`` and TLS pass the socket on to other objects and drop it while
    they still read from it.
    """

    def __init__(self, seconds: float) -> None:
        """``seconds``: the time from entering the context."""
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_over = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """Start the time."""
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop the time."""
        self._timer.cancel()
        with self._lock:  # not while the timer's thread uses the socket, whose number may soon be another file's
            if self._socket:
                self._socket.close()
            self._socket = None

    def guard(self, connected: socket.socket) -> None:
        """Shut ``connected`` down at the deadline.

        Raises:
            TimeoutError: the time is already over.
        """
        with self._lock:
            if self._is_over:
                raise TimeoutError("the connection took too long")
            self._socket = connected.dup()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._socket:
                with contextlib.suppress(OSError):  # the peer has closed the connection
                    # Closing then resets the connection; a peer that still sends would otherwise wait for minutes.
                    self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self._socket.shutdown(socket.SHUT_RDWR)
