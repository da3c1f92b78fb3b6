"""Which clients have open connections: a process that dies closes all of its connections at once.

A client is an address and a client id. Several consumers that share both count as one, so that none of them is taken
for dead while another one lives.
"""

from __future__ import annotations

import ipaddress
from collections import Counter

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection

__all__ = ["OpenClients"]


class OpenClients:
    """The open connections by client, and those that clients have closed lately."""

    def __init__(self, window_seconds: float) -> None:
        """Wait ``window_seconds`` for the last connection of a client to be closed, too."""
        self._window = window_seconds
        self._clients: dict[ClientConnection, tuple[str, str]] = {}
        self._open: Counter[tuple[str, str]] = Counter()
        self._closed: dict[ClientConnection, tuple[tuple[str, str], float]] = {}

    def opened(self, connection: ClientConnection, client_id: str) -> None:
        """The first request of a connection came, with the client's id."""
        if connection not in self._clients:
            self._clients[connection] = client = connection.host, client_id
            self._open[client] += 1

    def ended(self, connection: ClientConnection, now: float, *, by_client: bool) -> None:
        """A connection is closed; those that the broker or the gateway closes are no evidence (not ``by_client``)."""
        client = self._clients.pop(connection, None)
        if client is None:
            return
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]
        if by_client and _is_loopback(connection.host):
            self._closed[connection] = client, now + self._window

    def may_have_crashed(self, connection: ClientConnection) -> bool:
        """Whether it is not known yet if the process behind a closed connection is gone."""
        return connection in self._closed

    def crashed(self, now: float) -> list[ClientConnection]:
        """Closed connections of clients that have no other one left; each is returned once."""
        gone = [connection for connection, (client, _) in self._closed.items() if client not in self._open]
        for connection in [*gone, *(connection for connection, (_, until) in self._closed.items() if until <= now)]:
            self._closed.pop(connection, None)
        return gone

    @property
    def undecided(self) -> bool:
        """Whether `crashed` is to be asked again soon."""
        return bool(self._closed)


def _is_loopback(host: str) -> bool:
    """Whether the client is on this machine, so that a closed connection is no broken network."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
