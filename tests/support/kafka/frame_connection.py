"""A blocking connection to a broker that exchanges whole frames."""

from __future__ import annotations

import socket
import struct

__all__ = ["FrameConnection"]

_LENGTH = struct.Struct(">i")


class FrameConnection:
    """One request at a time. Raises OSError if the broker is gone or does not answer within ``timeout`` seconds."""

    def __init__(self, address, timeout):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout)
        self._file = self._socket.makefile("rb")

    def exchange(self, frame):
        """The answer to a frame, both without their length."""
        self.send(frame)
        return self.receive()

    def send(self, frame):
        """Send a frame without waiting for its answer."""
        self._socket.sendall(_LENGTH.pack(len(frame)) + frame)

    def receive(self):
        """The next answer, without its length."""
        head = self._file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise ConnectionAbortedError("the broker closed the connection")
        return self._file.read(*_LENGTH.unpack(head))

    def fileno(self):
        """The file descriptor of the socket, for `select`."""
        return self._socket.fileno()

    def close(self):
        self._file.close()
        self._socket.close()
