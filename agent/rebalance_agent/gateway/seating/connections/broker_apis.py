"""Finds whether the broker of a connection supports some APIs: a broker closes the connection for an unknown API."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from kafka.protocol.metadata import ApiVersionsRequest

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection

__all__ = ["BrokerApis"]


class BrokerApis:
    """Some APIs, each with the newest version that the gateway uses. Each connection's broker is asked once."""

    def __init__(self, versions: Mapping[int, int]) -> None:
        """``versions``: API key -> version."""
        self._versions = versions
        self._known: WeakKeyDictionary[ClientConnection, bool] = WeakKeyDictionary()

    async def known(self, connection: ClientConnection) -> bool:
        """Return whether the broker supports all these APIs. Raises like `Ask`."""
        known = self._known.get(connection)
        if known is None:
            response = await connection.ask(ApiVersionsRequest(version=0))
            newest = {one.api_key: one.max_version for one in response.api_keys or ()}
            known = all(newest.get(key, -1) >= version for key, version in self._versions.items())
            self._known[connection] = known
        return known
