"""Connections to brokers: TCP, and TLS with the broker's own name verified."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence

from rebalance_agent.gateway.transport.addresses import Address
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.links import COPY_BYTES, Link, PlainLink, TlsLink, tuned

__all__ = ["CONNECT_SECONDS_MAX", "connected"]

CONNECT_SECONDS_MAX = 10.0
"""For one address to take a connection, TLS included: what Kafka's clients give one (socket.connection.setup...)."""


async def connected(addresses: Sequence[Address], tls: ssl.SSLContext | None) -> Link:
    """A link to the first of ``addresses`` that takes a connection.

    Raises:
        RefusedError: none does; the text says why the last did not.
    """
    problem = "no address is known"
    for host, port in addresses:
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                return await _linked(host, port, tls)
        except TimeoutError:
            problem = f"{host} port {port} did not answer within {CONNECT_SECONDS_MAX:.0f} s"
        except ssl.SSLCertVerificationError as error:
            problem = f"the certificate of {host} port {port} is not trusted: {error.verify_message}"
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError; a name that can be none is a ValueError
            problem = f"{host} port {port}: {getattr(error, 'strerror', None) or error}"
    raise RefusedError(CloseReason.UNREACHABLE, problem)


async def _linked(host: str, port: int, tls: ssl.SSLContext | None) -> Link:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # One that does not answer leaves time for the others: next time it would be the first again.
    seconds = CONNECT_SECONDS_MAX / max(1, len(found))
    for number, (family, kind, protocol, _, address) in enumerate(found, 1):
        with contextlib.ExitStack() as unless_linked:
            sock = unless_linked.enter_context(tuned(socket.socket(family, kind, protocol)))
            try:
                async with asyncio.timeout(seconds):
                    await loop.sock_connect(sock, address)
                    link = await _spoken(sock, host, port, tls)
            except ssl.SSLError:
                raise  # it answers, and so would the others
            except OSError:
                if number == len(found):
                    raise
            else:
                unless_linked.pop_all()
                return link
    raise OSError(f"{host} has no address")


async def _spoken(sock: socket.socket, host: str, port: int, tls: ssl.SSLContext | None) -> Link:
    if tls is None:
        return PlainLink(sock, f"{host}:{port}")
    streams = await asyncio.open_connection(sock=sock, ssl=tls, server_hostname=host, limit=COPY_BYTES)
    return TlsLink(*streams, f"{host}:{port}")
