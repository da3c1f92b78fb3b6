"""Chooses the connection to close when there are too many connections, or too little memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from rebalance_agent.http.connections.connection import Connection, Phase

__all__ = ["longest_of_most", "requests_held", "slowest_reader", "slowest_sender", "urgent_held"]

_MOMENT_S = 0.001


def longest_of_most(connections: Collection[Connection]) -> Connection | None:
    """Return the connection that waits longest for its client, at the address with the most; None if none waits.

    So a client with too many connections loses only its own connections. Complete requests are kept.
    """
    number = Counter(connection.address[0] for connection in connections)
    waiting = (connection for connection in connections if not connection.phase.holds_request)
    return min(waiting, key=lambda connection: (-number[connection.address[0]], connection.since), default=None)


def slowest_reader(connections: Iterable[Connection], now: float) -> Connection | None:
    """Return the connection whose client reads the answer slowest (bytes/s); None if no answer is being sent.

    A client that only fills the kernel's buffer becomes slower each second. ``now``: monotonic seconds.
    """
    sending = (connection for connection in connections if connection.phase is Phase.ANSWER)
    return min(
        sending, key=lambda connection: connection.outgoing.sent / max(now - connection.since, _MOMENT_S), default=None
    )


def slowest_sender(connections: Iterable[Connection]) -> Connection | None:
    """Return the connection whose body has not grown for the longest time; None if there is no incomplete body.

    A body that is still arriving is kept, even if only little of it has arrived. ``Connection.since`` is the time at
    which the body last grew much.
    """
    reading = (connection for connection in connections if connection.phase is Phase.BODY and connection.body_bytes)
    return min(reading, key=lambda connection: connection.since, default=None)


def requests_held(connections: Iterable[Connection]) -> int:
    """Return the number of connections that hold a complete request or its answer."""
    return sum(connection.phase.holds_request for connection in connections)


def urgent_held(connections: Iterable[Connection], host: str) -> int:
    """Return the number of connections from ``host`` that hold an urgent request or its answer."""
    return sum(each.urgent and each.phase.holds_request and each.address[0] == host for each in connections)
