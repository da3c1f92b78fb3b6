"""Connects to brokers over TCP, or over TLS after verifying the broker's host name."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl

from rebalance_agent.gateway.transport.addresses import Address
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.sharing.address_lookup import AddressLookup
from rebalance_agent.gateway.transport.sharing.broker_places import BrokerPlace, BrokerPlaces
from rebalance_agent.gateway.transport.tcp_connections import (
    COPY_BYTES,
    PeerConnection,
    PlainConnection,
    TlsConnection,
    tuned,
)

__all__ = ["CONNECT_SECONDS_MAX", "BrokerConnector", "connect"]

CONNECT_SECONDS_MAX = 10.0
"""Longest time (seconds) to connect to one host, including TLS, as in Kafka's clients
(socket.connection.setup.timeout.ms)."""


class BrokerConnector:
    """Connects to brokers for the clients of one gateway; no client delays the connections of others."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        """``tls``: None for plaintext connections."""
        self._tls, self._lookup, self._places = tls, AddressLookup(), BrokerPlaces()

    async def connect(self, address: Address, host: str) -> tuple[PeerConnection, BrokerPlace]:
        """Return a connection to ``address`` for a client from ``host``, and a place that the caller must free.

        Raises:
            RefusedError: see `connect`.
        """
        place = await self._places.take(host, address)
        try:
            connection = await connect(address, self._tls, self._lookup)
        except BaseException:
            place.free()
            raise
        place.connected()
        return connection, place


async def connect(address: Address, tls: ssl.SSLContext | None, lookup: AddressLookup) -> PeerConnection:
    """Return a connection to ``address``; ``lookup`` finds the IP addresses of its host name.

    Raises:
        RefusedError: ``address`` accepts no connection; the text gives the reason.
    """
    host, port = address
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            return await _connect_host(host, port, tls, lookup)
    except TimeoutError:
        problem = f"{host} port {port} did not respond within {CONNECT_SECONDS_MAX:.0f} s"
    except ssl.SSLCertVerificationError as error:
        problem = f"the certificate of {host} port {port} is not trusted: {error.verify_message}"
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError; an impossible name raises a ValueError
        problem = f"{host} port {port}: {getattr(error, 'strerror', None) or error}"
    raise RefusedError(CloseReason.UNREACHABLE, problem)


async def _connect_host(host: str, port: int, tls: ssl.SSLContext | None, lookup: AddressLookup) -> PeerConnection:
    loop = asyncio.get_running_loop()
    resolved = await lookup.find(host, port)
    # Each IP address gets a share of the time: otherwise an address that never answers would use all the time.
    seconds = CONNECT_SECONDS_MAX / max(1, len(resolved))
    for number, (family, kind, protocol, _, address) in enumerate(resolved, 1):
        with contextlib.ExitStack() as unless_linked:
            sock = unless_linked.enter_context(tuned(socket.socket(family, kind, protocol)))
            try:
                async with asyncio.timeout(seconds):
                    await loop.sock_connect(sock, address)
                    connection = await _with_tls(sock, host, port, tls)
            except ssl.SSLError:
                raise  # the host answers, and its other IP addresses would fail in the same way
            except OSError:
                if number == len(resolved):
                    raise
            else:
                unless_linked.pop_all()
                return connection
    raise OSError(f"{host} has no address")


async def _with_tls(sock: socket.socket, host: str, port: int, tls: ssl.SSLContext | None) -> PeerConnection:
    if tls is None:
        return PlainConnection(sock, f"{host}:{port}")
    streams = await asyncio.open_connection(sock=sock, ssl=tls, server_hostname=host, limit=COPY_BYTES)
    return TlsConnection(*streams, f"{host}:{port}")
