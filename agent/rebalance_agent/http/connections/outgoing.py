"""Sends the bytes of an answer to a client without blocking."""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import termios
from collections.abc import Sequence

from rebalance_agent.http.messages import chunks

__all__ = ["Outgoing", "not_taken"]


class Outgoing:
    """An answer that is sent piece by piece, as the client reads it."""

    __slots__ = ("_chunk", "_chunks", "held", "left", "sent")

    def __init__(self, pieces: Sequence[bytes] = ()) -> None:
        """``pieces`` are in memory until all of them are sent: ``held`` bytes, of which ``left`` are to be sent."""
        self._chunks = chunks(pieces)
        self._chunk = memoryview(b"")
        self.left = self.held = sum(map(len, pieces))
        self.sent = 0

    def send(self, client: socket.socket, bytes_max: int) -> bool:
        """Send at most about ``bytes_max`` bytes, until the client has to read first; return True if nothing is left.

        Raises:
            BlockingIOError: the client reads nothing now; with TLS ``ssl.SSLWantWriteError``.
            OSError: the connection is broken.
        """
        until = self.sent + bytes_max
        while self.left and self.sent < until:
            # TLS needs the same bytes again after it could not send them, so they are kept until they are sent.
            if not self._chunk:
                self._chunk = memoryview(next(self._chunks))
            number = client.send(self._chunk)
            self._chunk = self._chunk[number:]
            self.left -= number
            self.sent += number
            if self._chunk:
                break  # the buffer is full: another attempt would only release the interpreter's lock
        if not self.left:
            self._chunks, self._chunk, self.held = iter(()), memoryview(b""), 0
        return not self.left


def not_taken(client: socket.socket) -> int:
    """Return how many sent bytes the client has not acknowledged; 0 if the kernel cannot tell."""
    with contextlib.suppress(OSError):
        (number,) = struct.unpack("i", fcntl.ioctl(client.fileno(), termios.TIOCOUTQ, bytes(4)))
        return int(number)
    return 0
