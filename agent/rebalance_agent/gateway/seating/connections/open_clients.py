"""Tracks the open connections of clients: a process that dies closes all of its connections at once.

A client is identified by its address and client id. Consumers with the same address and client id count as one client,
so no consumer is considered dead while another of them is alive.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seats.rules.short_hash import short_hash
from rebalance_agent.http.loopback import is_loopback

__all__ = ["CLOSED_MAX", "OpenClients"]

CLOSED_MAX = 1_000
"""Maximum number of closed connections kept: as many as the gateway accepts at a time."""

FORMER_MAX = 100
"""Maximum number of closed connections kept per client: a consumer has three, and a process a few consumers."""


@dataclass(frozen=True, slots=True)
class _Closed:
    """A closed connection of a client, which counts as evidence until ``until``."""

    client: str
    process: int
    until: float


class OpenClients:
    """The open connections of each client, and the connections that clients closed recently.

    ``process``: the number of a connection, which identifies its client in other modules.
    """

    def __init__(self, window_seconds: float) -> None:
        """``window_seconds``: how long to wait until the client's other connections are closed, too."""
        self._window = window_seconds
        self._clients: dict[ClientConnection, tuple[str, int]] = {}
        self._open: Counter[str] = Counter()
        self._closed: OrderedDict[ClientConnection, _Closed] = OrderedDict()
        self._former: OrderedDict[str, dict[int, float]] = OrderedDict()

    def opened(self, connection: ClientConnection, client_id: str, process: int = 0) -> tuple[int, ...]:
        """Process the first request of a connection, with the client's id; return the client's former processes.

        A process is former if at some time all connections of its client were closed. It may be the same process again.
        """
        if connection in self._clients:
            return ()
        client = short_hash(repr((connection.host, client_id)))
        if client not in self._open:
            for closed in self._closed.values():
                if closed.client == client:
                    self._note_former(closed)
        self._clients[connection] = client, process
        self._open[client] += 1
        return tuple(self._former.get(client, ()))

    def former(self, connection: ClientConnection) -> frozenset[int]:
        """Return the client's former processes (see `opened`), for an open connection."""
        client, _ = self._clients.get(connection, ("", 0))
        return frozenset(self._former.get(client, ()))

    def ended(self, connection: ClientConnection, now: float, *, by_client: bool) -> None:
        """Process a closed connection. It is evidence only if a client on this machine closed it (``by_client``)."""
        client, process = self._clients.pop(connection, ("", 0))
        if not client:
            return
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]
        if by_client and is_loopback(connection.host):  # from other machines, the network may have broken it
            self._closed[connection] = _Closed(client, process, now + self._window)
            if len(self._closed) > CLOSED_MAX:
                self._closed.popitem(last=False)

    def may_have_crashed(self, connection: ClientConnection) -> bool:
        """Whether it is still undecided if the process behind a closed connection is gone."""
        return connection in self._closed

    def crashed(self, now: float) -> list[ClientConnection]:
        """Return, once, each closed connection of clients without open connections."""
        gone = [connection for connection, closed in self._closed.items() if closed.client not in self._open]
        for connection in gone:
            self._note_former(self._closed[connection])
        for connection in [*gone, *(connection for connection, closed in self._closed.items() if closed.until <= now)]:
            self._closed.pop(connection, None)
        former = ((client, [*known.items()]) for client, known in self._former.items())
        left = ((client, {process: until for process, until in known if until > now}) for client, known in former)
        self._former = OrderedDict((client, known) for client, known in left if known)
        return gone

    def _note_former(self, closed: _Closed) -> None:
        known = self._former.setdefault(closed.client, {})
        known[closed.process] = closed.until
        if len(known) > FORMER_MAX:
            del known[next(iter(known))]
        if len(self._former) > CLOSED_MAX:
            self._former.popitem(last=False)

    @property
    def undecided(self) -> bool:
        """Whether `crashed` should be called again soon."""
        return bool(self._closed)
