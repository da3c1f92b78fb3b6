"""Memory for the frames that are read whole, of all connections together."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from rebalance_agent.gateway.refusal import Refusal, RefusedError

__all__ = ["ROOM_BYTES", "SMALL_BYTES", "WAIT_SECONDS_MAX", "Room"]

ROOM_BYTES = 64 * 1024 * 1024
"""For large frames together: some dozens of answers that name every partition of a large cluster."""

SMALL_BYTES = 64 * 1024
"""Up to here a frame comes in one read, and takes no room: a thousand connections have as much in their buffers."""

WAIT_SECONDS_MAX = 30.0
"""For room: whoever has it sends a frame in that time, or its connection ends. Only who does not read has it longer."""


class Room:
    """So many bytes; who finds too little waits, in order. One frame alone may be larger than all of it."""

    def __init__(self, bytes_max: int = ROOM_BYTES) -> None:
        """All of it is free."""
        self._max, self._taken = bytes_max, 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @contextlib.asynccontextmanager
    async def taken(self, size: int, *, urgent: bool = False) -> AsyncIterator[None]:
        """Hold room for a frame of ``size`` bytes; ``urgent``: at once, since others wait for what it says.

        Raises:
            RefusedError: there was none for long.
        """
        if size <= SMALL_BYTES:
            yield
            return
        if not urgent and (self._waiting or not self._fits(size)):
            await self._wait(size)
        else:
            self._taken += size
        try:
            yield
        finally:
            self._taken -= size
            self._admit()

    def _fits(self, size: int) -> bool:
        return not self._taken or self._taken + size <= self._max

    async def _wait(self, size: int) -> None:
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (size, admitted)
        self._waiting.append(entry)
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
                raise RefusedError(Refusal.ROOM, text) from None
            raise

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, admitted = self._waiting.popleft()
            if not admitted.cancelled():
                self._taken += size
                admitted.set_result(None)
