"""The connections to the coordinator of one group: those of the group's members and newcomers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seating.connections.coordinator_requests import AskElsewhereError
from rebalance_agent.gateway.seats.seat import SeatState, SeatTable
from rebalance_agent.gateway.transport.kafka_messages import Ask

__all__ = ["ANSWER_SECONDS", "GROUP_CONNECTIONS_MAX", "GroupConnections"]

ANSWER_SECONDS = 2.0
"""Longest wait in seconds for an answer, which usually takes a millisecond. There is no answer on a connection with a
waiting JoinGroup."""

GROUP_CONNECTIONS_MAX = 1_000
"""Maximum number of connections of one group: as many as the gateway accepts."""

TRIES_MAX = 3
"""Maximum number of connections on which one request is tried."""

_Answer = TypeVar("_Answer")


class GroupConnections:
    """The connections of one group, and for each seat the connection of the seat's last member."""

    def __init__(self, table: SeatTable) -> None:
        """Start without connections."""
        self._table = table
        self._connections: dict[ClientConnection, None] = {}
        self._of_seat: dict[str, ClientConnection] = {}
        self._ended: set[ClientConnection] = set()

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._connections)

    def use(self, connection: ClientConnection, instance_id: str | None = None) -> None:
        """Record that a request of the group arrived on ``connection``; ``instance_id``: the sender's seat, if any."""
        self._connections.pop(connection, None)
        self._connections[connection] = None
        if instance_id is not None:
            self._of_seat[instance_id] = connection
            if len(self._of_seat) > len(self._table):
                self._of_seat = {seat: of for seat, of in self._of_seat.items() if self._table.get(seat) is not None}
        if len(self._connections) > GROUP_CONNECTIONS_MAX:
            self.forget(next(iter(self._connections)))

    def forget(self, connection: ClientConnection) -> None:
        """Drop a connection that is closed, or whose broker is not the coordinator."""
        self._connections.pop(connection, None)
        self._ended.discard(connection)
        self._of_seat = {
            seat: of for seat, of in self._of_seat.items() if of is not connection and self._table.get(seat) is not None
        }

    def client_ended(self, connection: ClientConnection) -> None:
        """Record that the client of ``connection`` closed it; the broker's side stays open while it is `needed`."""
        if connection in self._connections:
            self._ended.add(connection)

    def needed(self, connection: ClientConnection, *, may_have_crashed: bool) -> bool:
        """Whether a seat of the connection's client is kept, or is about to be given up.

        ``may_have_crashed``: it is not known yet whether the client's process is gone.
        """
        if connection.closed or connection not in self._connections:
            return False
        kept = {SeatState.VACANT, SeatState.DISCONNECTED, SeatState.GIVEN_UP}
        if may_have_crashed:
            kept.add(SeatState.OCCUPIED)
        seats = (self._table.get(seat) for seat, of in self._of_seat.items() if of is connection)
        return any(seat is not None and seat.state in kept for seat in seats)

    async def ask(self, request: Callable[[Ask], Awaitable[_Answer]], instance_id: str | None = None) -> _Answer | None:
        """Send ``request`` on a seat's connection, or else on another; return the answer, None without an answer."""
        return await self.by_connection(lambda connection: request(connection.ask), instance_id)

    async def by_connection(
        self,
        request: Callable[[ClientConnection], Awaitable[_Answer]],
        instance_id: str | None = None,
    ) -> _Answer | None:
        """Like `ask`, but pass the connection to ``request``. A request may be carried out up to `TRIES_MAX` times.

        A connection is dropped if it lacks permissions, or if its broker is no longer the coordinator. A connection
        whose broker is only loading the group is kept: it may be the only one, and it is used again later.
        """
        for connection in self._by_preference(instance_id)[:TRIES_MAX]:
            try:
                return await asyncio.wait_for(request(connection), ANSWER_SECONDS)
            except AskElsewhereError as error:
                if error.for_good:
                    self.forget(connection)
            except (TimeoutError, ConnectionError, DecodeError):
                continue
        return None

    def _by_preference(self, instance_id: str | None) -> list[ClientConnection]:
        """Return the seat's own connection, then those of disconnected clients (they are idle), then the newest."""
        own = self._of_seat.get(instance_id or "")
        newest_first = [*reversed(self._connections)]
        ended = [connection for connection in newest_first if connection in self._ended]
        preferred = [*([] if own is None else [own]), *ended, *newest_first]
        return [connection for connection in dict.fromkeys(preferred) if not connection.closed]
