"""Finds the IP addresses of brokers' names, with one lookup for all connections that need it at the same time."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from rebalance_agent.gateway.transport.addresses import Address

__all__ = ["KEPT_SECONDS", "AddressLookup"]

KEPT_SECONDS = 1.0
"""Seconds for which a result, or an error, is reused. Lookups run in a few threads: hundreds of lookups for the
connections of one client would delay the lookup for the next client."""


class AddressLookup:
    """Looks up host names. All methods run in the event loop."""

    def __init__(self) -> None:
        """Start without results."""
        self._lookups: dict[Address, asyncio.Task[list[Any]]] = {}

    async def find(self, host: str, port: int) -> list[Any]:
        """Return the result of ``getaddrinfo`` for TCP.

        Raises:
            OSError: the name has no address.
            ValueError: the text cannot be a name.
        """
        try:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            pass  # host is a name, not an IP address
        lookup = self._lookups.get((host, port))
        if lookup is None:
            lookup = self._lookups[host, port] = asyncio.create_task(_looked_up(host, port))
            lookup.add_done_callback(lambda done: self._keep((host, port), done))
        return await asyncio.shield(lookup)  # a client that disconnects does not end a lookup that others share

    def _keep(self, address: Address, lookup: asyncio.Task[list[Any]]) -> None:
        if not lookup.cancelled():
            lookup.exception()  # marks the error as retrieved: the callers may be gone
        lookup.get_loop().call_later(KEPT_SECONDS, self._lookups.pop, address, None)


async def _looked_up(host: str, port: int) -> list[Any]:
    return list(await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM))
