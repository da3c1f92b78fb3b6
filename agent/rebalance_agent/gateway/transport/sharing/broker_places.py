"""Limits the connections from one client's address to one broker that the broker has not answered yet.

A broker's system queues 50 new connections by default (``socket.listen.backlog.size``). While this queue is full, any
other connection, even without a gateway, is retried only after a second or more.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from rebalance_agent.gateway.transport.addresses import Address

__all__ = ["UNANSWERED_MAX", "UNANSWERED_SECONDS", "BrokerPlace", "BrokerPlaces"]

UNANSWERED_MAX = 16
"""Maximum unanswered connections from one address to one broker; further ones wait until there are fewer."""

UNANSWERED_SECONDS = 1.0
"""Seconds after which an accepted connection no longer counts, since its client may not send anything."""


class BrokerPlaces:
    """The places of all addresses at all brokers; waiting connections are served first come, first served."""

    def __init__(self) -> None:
        """Start with all places free."""
        self._of: WeakValueDictionary[tuple[str, Address], asyncio.Semaphore] = WeakValueDictionary()

    async def take(self, host: str, broker: Address) -> BrokerPlace:
        """Wait for a place for a connection of a client from ``host``."""
        places = self._of.get((host, broker))
        if places is None:
            places = self._of[host, broker] = asyncio.Semaphore(UNANSWERED_MAX)
        await places.acquire()
        return BrokerPlace(places)


class BrokerPlace:
    """The place of one connection, which must be freed."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        """``places``: the semaphore from which this place was taken."""
        self._places: asyncio.Semaphore | None = places
        self._timer: asyncio.TimerHandle | None = None

    def connected(self) -> None:
        """Free the place after `UNANSWERED_SECONDS`, unless the broker answers earlier."""
        self._timer = asyncio.get_running_loop().call_later(UNANSWERED_SECONDS, self.free)

    def free(self) -> None:
        """Free the place for the next connection, once the broker has answered or the connection has ended."""
        places, self._places = self._places, None
        if places is not None:
            places.release()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
