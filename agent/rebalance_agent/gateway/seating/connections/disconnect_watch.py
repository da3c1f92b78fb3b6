"""Detects clients that disconnect while a request of theirs waits: meanwhile, their connections are not read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection

__all__ = ["DisconnectWatch"]

_Result = TypeVar("_Result")


class DisconnectWatch:
    """The connections with a waiting request. Each connection has at most one waiting request."""

    def __init__(self) -> None:
        """Start without waiting requests."""
        self._waiting: dict[ClientConnection, asyncio.Future[Any]] = {}
        self._gone: set[ClientConnection] = set()

    def __len__(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    async def while_connected(self, connection: ClientConnection, work: Awaitable[_Result]) -> _Result:
        """Return the result of ``work``; cancel ``work`` once the client of ``connection`` is gone.

        Raises:
            ConnectionAbortedError: the client is gone.
        """
        waiting = asyncio.ensure_future(work)
        self._waiting[connection] = waiting
        try:
            return await waiting
        except asyncio.CancelledError:
            if connection in self._gone:
                raise ConnectionAbortedError("the client disconnected while its request waited") from None
            raise
        finally:
            self._waiting.pop(connection, None)
            self._gone.discard(connection)

    def check(self) -> None:
        """Cancel the work of disconnected clients; to be called repeatedly."""
        for connection, waiting in tuple(self._waiting.items()):
            if not waiting.done() and (connection.closed or connection.hung_up()):
                self._gone.add(connection)
                waiting.cancel()
