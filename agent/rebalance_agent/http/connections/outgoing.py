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
    """An answer that is sent piece by piece while the client reads it."""

    __slots__ = ("_chunk", "_chunks", "held", "left", "sent")

    def __init__(self, pieces: Sequence[bytes] = ()) -> None:
        """``pieces`` are in memory until all are sent: ``held`` bytes, of which ``left`` are still to be sent."""
        self._chunks = chunks(pieces)
        self._chunk = memoryview(b"")
        self.left = self.held = sum(map(len, pieces))
        self.sent = 0

    def send(self, client: socket.socket, bytes_max: int) -> bool:
        """Send up to about ``bytes_max`` bytes, as far as the client reads; return True if no bytes are left.

        Raises:
            BlockingIOError: the client does not read now; with TLS, the error is ``ssl.SSLWantWriteError``.
            OSError: the connection is broken.
        """
        until = self.sent + bytes_max
        while self.left and self.sent < until:
            # TLS needs the same bytes again if it could not send them, so the bytes are kept until they are sent.
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
    """Return the number of sent bytes that the client has not acknowledged; 0 if the kernel does not report it."""
    with contextlib.suppress(OSError):
        (number,) = struct.unpack("i", fcntl.ioctl(client.fileno(), termios.TIOCOUTQ, bytes(4)))
        return int(number)
    return 0
