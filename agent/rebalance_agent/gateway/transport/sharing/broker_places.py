"""Bounds the connections from one client's address to one broker that the broker has not answered yet.

A broker's system queues 50 new connections by default (``socket.listen.backlog.size``). While it is full, each other
connection, also one that comes by no gateway, is tried again after a second or more.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from rebalance_agent.gateway.transport.addresses import Address

__all__ = ["UNANSWERED_MAX", "UNANSWERED_SECONDS", "BrokerPlace", "BrokerPlaces"]

UNANSWERED_MAX = 16
"""Connections from one address to one broker without an answer; further ones wait until there are fewer."""

UNANSWERED_SECONDS = 1.0
"""Seconds after which a connection that the broker has accepted no longer counts: its client may send nothing."""


class BrokerPlaces:
    """The places of all addresses at all brokers; those that wait for one are served first come, first served."""

    def __init__(self) -> None:
        """No place is taken."""
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
        """It is taken from ``places``."""
        self._places: asyncio.Semaphore | None = places
        self._timer: asyncio.TimerHandle | None = None

    def connected(self) -> None:
        """Free the place in `UNANSWERED_SECONDS`, unless the broker answers before."""
        self._timer = asyncio.get_running_loop().call_later(UNANSWERED_SECONDS, self.free)

    def free(self) -> None:
        """Leave the place to the next connection, once the broker has answered, or the connection has ended."""
        places, self._places = self._places, None
        if places is not None:
            places.release()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
