"""Limits the connections from one client address to one broker while the broker has not yet answered on them.

A broker's system queues 50 new connections by default (``socket.listen.backlog.size``). While this queue is full, every
further connection, even one that does not pass a gateway, is retried only after a second or more.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from rebalance_agent.gateway.transport.addresses import Address

__all__ = ["UNANSWERED_MAX", "UNANSWERED_SECONDS", "BrokerPlace", "BrokerPlaces"]

UNANSWERED_MAX = 16
"""Maximum number of unanswered connections from one address to one broker; further connections wait until there are
fewer."""

UNANSWERED_SECONDS = 1.0
"""Seconds after which an accepted connection no longer counts, since its client may never send a request."""


class BrokerPlaces:
    """The places of all client addresses at all brokers; waiting connections are served first come, first served."""

    def __init__(self) -> None:
        """Start with all places free."""
        self._of: WeakValueDictionary[tuple[str, Address], asyncio.Semaphore] = WeakValueDictionary()

    async def take(self, host: str, broker: Address) -> BrokerPlace:
        """Wait for a place at ``broker`` for a connection of a client from ``host``; return the place."""
        places = self._of.get((host, broker))
        if places is None:
            places = self._of[host, broker] = asyncio.Semaphore(UNANSWERED_MAX)
        await places.acquire()
        return BrokerPlace(places)


class BrokerPlace:
    """The place of one connection; the place must be freed."""

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
