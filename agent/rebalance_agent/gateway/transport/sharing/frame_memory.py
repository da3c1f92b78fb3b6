"""Limits the memory that all connections together use for frames that are read whole."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError

__all__ = ["BUDGET_BYTES", "HOLD_SECONDS_MAX", "SMALL_BYTES", "WAIT_SECONDS_MAX", "FrameMemoryBudget"]

BUDGET_BYTES = 64 * 1024 * 1024
"""Maximum bytes of all large frames together: some dozen responses with every partition of a large cluster."""

SMALL_BYTES = 64 * 1024
"""Frames up to this size (bytes) are not counted: they arrive in one read and fit into a connection's buffer."""

WAIT_SECONDS_MAX = 30.0
"""Longest wait (seconds) for memory: as long as clients' request timeout."""

HOLD_SECONDS_MAX = 20.0
"""Longest use (seconds) of memory while other frames wait for memory. It is below `WAIT_SECONDS_MAX`, so that a client
that does not read does not affect other clients."""


class FrameMemoryBudget:
    """A byte budget shared by all connections; waiters are served first come, first served.

    One frame alone may exceed the budget. A frame may use memory for any time while no other frame waits, and for
    `HOLD_SECONDS_MAX` once another frame waits.
    """

    def __init__(self, bytes_max: int = BUDGET_BYTES) -> None:
        """Allow ``bytes_max`` bytes."""
        self._max, self._taken = bytes_max, 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._holds: set[asyncio.Timeout] = set()

    @contextlib.asynccontextmanager
    async def taken(self, size: int, *, urgent: bool = False) -> AsyncIterator[None]:
        """Use memory for a frame of ``size`` bytes; ``urgent``: do not wait, since other frames wait for this one.

        Raises:
            RefusedError: the wait exceeded `WAIT_SECONDS_MAX`, or the block held memory too long while others waited.
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
            text = f"a frame of {size} bytes was not sent in time while other frames waited for its memory"
            raise RefusedError(CloseReason.SLOW, text) from None
        finally:
            self._holds.discard(hold)
            self._taken -= size
            self._admit()

    def _limit(self) -> None:
        """Set a deadline for all holders of memory if other frames wait; otherwise remove the deadline."""
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
                with contextlib.suppress(ValueError):  # the entry has already been skipped
                    self._waiting.remove(entry)
            self._admit()
            if isinstance(error, TimeoutError):
                text = f"frames of other connections left no memory for a frame of {size} bytes"
                raise RefusedError(CloseReason.ROOM, text) from None
            raise

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, admitted = self._waiting.popleft()
            if not admitted.cancelled():
                self._taken += size
                admitted.set_result(None)
        self._limit()
