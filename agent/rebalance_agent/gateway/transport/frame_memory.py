"""Memory for the frames that are read whole, of all connections together."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError

__all__ = ["HOLD_SECONDS_MAX", "ROOM_BYTES", "SMALL_BYTES", "WAIT_SECONDS_MAX", "FrameMemoryBudget"]

ROOM_BYTES = 64 * 1024 * 1024
"""For large frames together: some dozens of answers that name every partition of a large cluster."""

SMALL_BYTES = 64 * 1024
"""Up to here a frame comes in one read, and takes no room: a thousand connections have as much in their buffers."""

WAIT_SECONDS_MAX = 30.0
"""For room. Clients' request timeouts are as long."""

HOLD_SECONDS_MAX = 20.0
"""Of room that others wait for: shorter than they do, so that one client that does not read ends alone."""


class FrameMemoryBudget:
    """So many bytes; who finds too little waits, in order. One frame alone may be larger than all of it.

    Who has room keeps it for as long as it takes, until others wait for it: then there is a limit.
    """

    def __init__(self, bytes_max: int = ROOM_BYTES) -> None:
        """All of it is free."""
        self._max, self._taken = bytes_max, 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._holds: set[asyncio.Timeout] = set()

    @contextlib.asynccontextmanager
    async def taken(self, size: int, *, urgent: bool = False) -> AsyncIterator[None]:
        """Hold room for a frame of ``size`` bytes; ``urgent``: at once, since others wait for what it says.

        Raises:
            RefusedError: there was none for long; or it was held for long while others waited for it.
        """
        if size <= SMALL_BYTES:
            yield
            return
        if not urgent and (self._waiting or not self._fits(size)):
            await self._wait(size)
        else:
            self._taken += size
        hold = asyncio.timeout(None)
        try:
            async with hold:
                self._holds.add(hold)
                self._limit()
                yield
        except TimeoutError:
            if not hold.expired():
                raise
            text = f"a frame of {size} bytes was not taken in time, and others waited for its room"
            raise RefusedError(CloseReason.SLOW, text) from None
        finally:
            self._holds.discard(hold)
            self._taken -= size
            self._admit()

    def _limit(self) -> None:
        """Set a limit to who has room, if others wait for it; else take it away."""
        at = asyncio.get_running_loop().time() + HOLD_SECONDS_MAX if self._waiting else None
        for hold in self._holds:
            if not hold.expired() and (at is None or hold.when() is None):
                hold.reschedule(at)

    def _fits(self, size: int) -> bool:
        return not self._taken or self._taken + size <= self._max

    async def _wait(self, size: int) -> None:
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (size, admitted)
        self._waiting.append(entry)
        self._limit()
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await admitted
        except BaseException as error:
            if admitted.done() and not admitted.cancelled():
                self._taken -= size
            else:
                with contextlib.suppress(ValueError):  # it was passed over
                    self._waiting.remove(entry)
            self._admit()
            if isinstance(error, TimeoutError):
                text = f"other connections' frames left no room for one of {size} bytes"
                raise RefusedError(CloseReason.ROOM, text) from None
            raise

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, admitted = self._waiting.popleft()
            if not admitted.cancelled():
                self._taken += size
                admitted.set_result(None)
        self._limit()
