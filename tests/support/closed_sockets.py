"""Mends what kafka-python leaves open, for every test with real clients: imported by the conftests of their tiers."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python 3.0, while it is imported
    from kafka.net.inet import KafkaNetSocket

_connect = KafkaNetSocket.sock_connect


async def _connect_or_close(self, net, sock, *arguments, **options):
    try:
        return await _connect(self, net, sock, *arguments, **options)
    except BaseException:
        sock.close()
        raise


# A client of kafka-python 3.0 that is closed while it connects leaves the socket to the garbage collector, which warns.
KafkaNetSocket.sock_connect = _connect_or_close
