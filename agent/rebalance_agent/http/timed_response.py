"""A response that an HTTP client reads within one time limit, even if the server sends it byte by byte."""

from __future__ import annotations

import http.client
import io
import socket
from typing import Any

from rebalance_agent.clock import SystemClock

__all__ = ["TimedResponse"]

SECONDS_MAX = 10.0
"""Longest time (seconds) for a whole response if its connection has no timeout; otherwise, that timeout."""


class _TimedReader(io.RawIOBase):
    """Reads from a connection for at most its timeout in total: a socket's timeout applies to each single byte."""

    def __init__(self, source: io.RawIOBase, connected: socket.socket) -> None:
        self._source, self._socket, self._clock = source, connected, SystemClock()
        self._seconds = connected.gettimeout() or SECONDS_MAX
        self._end = self._clock.monotonic() + self._seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - any writable buffer
        left = self._end - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError("the response was not complete in time")
        self._socket.settimeout(left)
        size = self._source.readinto(buffer)
        self._socket.settimeout(self._seconds)  # for the next request on this connection
        return size

    def close(self) -> None:
        self._source.close()
        super().close()


class TimedResponse(http.client.HTTPResponse):
    """The ``response_class`` of a connection whose timeout is the longest time for a whole response.

    The timeout still applies separately to connecting and to sending. Reading raises `TimeoutError` when it is over.
    """

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        """Start the time; the arguments are those of ``http.client.HTTPResponse``."""
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), sock))
