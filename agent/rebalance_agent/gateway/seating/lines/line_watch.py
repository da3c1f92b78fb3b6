"""Notices clients that disconnect while one of their requests waits: nothing else is read from them meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from rebalance_agent.gateway.seating.lines.client_line import ClientLine

__all__ = ["LineWatch"]

_Result = TypeVar("_Result")


class LineWatch:
    """The connections with a request that waits; each has one at a time."""

    def __init__(self) -> None:
        """No request waits."""
        self._waiting: dict[ClientLine, asyncio.Future[Any]] = {}
        self._gone: set[ClientLine] = set()

    def __len__(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    async def while_connected(self, line: ClientLine, work: Awaitable[_Result]) -> _Result:
        """The result of ``work``, which is cancelled once the client of ``line`` is gone.

        Raises:
            ConnectionAbortedError: the client is gone.
        """
        waiting = asyncio.ensure_future(work)
        self._waiting[line] = waiting
        try:
            return await waiting
        except asyncio.CancelledError:
            if line in self._gone:
                raise ConnectionAbortedError("the client disconnected while its request waited") from None
            raise
        finally:
            self._waiting.pop(line, None)
            self._gone.discard(line)

    def check(self) -> None:
        """Cancel the work of clients that are gone; to be called every now and then."""
        for line, waiting in tuple(self._waiting.items()):
            if not waiting.done() and (line.closed or line.hung_up()):
                self._gone.add(line)
                waiting.cancel()
