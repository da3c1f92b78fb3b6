"""Closes sockets that kafka-python leaves open, for tests with real clients."""

from __future__ import annotations

import warnings
import weakref

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python 3.0 at import
    from kafka.net.inet import KafkaNetSocket
    from kafka.net.transport import KafkaTCPTransport

_connect = KafkaNetSocket.sock_connect
_begin = KafkaTCPTransport.__init__


async def _connect_or_close(self, net, sock, *arguments, **options):
    try:
        return await _connect(self, net, sock, *arguments, **options)
    except BaseException:
        sock.close()
        raise


# A client of kafka-python 3.0 that is closed while it connects leaves the socket to the garbage collector, which warns.
KafkaNetSocket.sock_connect = _connect_or_close


def _begin_and_close(self, net, sock, *arguments, **options):
    _begin(self, net, sock, *arguments, **options)
    weakref.finalize(self, self._sock.close)


# A client that is closed with unwritten data ends its selector before the write, and so before it closes the socket.
KafkaTCPTransport.__init__ = _begin_and_close
