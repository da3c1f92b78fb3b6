"""Limits the memory that all connections together use for frames that are read whole."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator

from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError

__all__ = ["BUDGET_BYTES", "HOLD_SECONDS_MAX", "SMALL_BYTES", "WAIT_SECONDS_MAX", "FrameMemoryBudget"]

BUDGET_BYTES = 64 * 1024 * 1024
"""Maximum number of bytes of all large frames together: a few dozen responses with every partition of a large
cluster."""

SMALL_BYTES = 64 * 1024
"""Frames up to this size (bytes) are not counted: they arrive in one read and fit into a connection's buffer."""

WAIT_SECONDS_MAX = 30.0
"""Longest wait (seconds) for memory: as long as clients' request timeout."""

HOLD_SECONDS_MAX = 20.0
"""Longest use (seconds) of memory while other frames wait for memory. It is below `WAIT_SECONDS_MAX`, so that a client
that does not read does not affect other clients."""


_Waiter = tuple[int, asyncio.Future[None]]
"""The size of a frame in bytes, and the future that is set once the frame may use memory."""


class FrameMemoryBudget:
    """A byte budget shared by all connections. One address gets at most half of it for frames that wait for memory.

    A frame uses memory of the size that its length field claims, although its bytes may never arrive. Therefore the
    address that uses the fewest bytes is served first, and the waiters of one address are served first come, first
    served. One frame alone may exceed an address's half, and the budget. A frame may use memory for any time while no
    other frame waits for it, and for `HOLD_SECONDS_MAX` once another frame waits.
    """

    def __init__(self, bytes_max: int = BUDGET_BYTES) -> None:
        """Allow ``bytes_max`` bytes."""
        self._max, self._taken = bytes_max, 0
        self._taken_by: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Waiter]] = {}
        self._holds: dict[asyncio.Timeout, str] = {}

    @contextlib.asynccontextmanager
    async def taken(self, size: int, host: str, *, urgent: bool = False) -> AsyncIterator[None]:
        """Use memory for a frame of ``size`` bytes of a client with the address ``host``.

        ``urgent``: do not wait, since other frames wait for this one.

        Raises:
            RefusedError: the wait exceeded `WAIT_SECONDS_MAX`, or the block held memory too long while others waited.
        """
        if size <= SMALL_BYTES:
            yield
            return
        if urgent:
            self._use(host, size)
        else:
            await self._wait(size, host)
        hold = asyncio.timeout(None)
        try:
            async with hold:
                self._holds[hold] = host
                self._limit()
                yield
        except TimeoutError:
            if not hold.expired():
                raise
            text = f"a frame of {size} bytes was not sent in time while other frames waited for its memory"
            raise RefusedError(CloseReason.SLOW, text) from None
        finally:
            self._holds.pop(hold, None)
            self._use(host, -size)
            self._admit(host)

    def _use(self, host: str, size: int) -> None:
        self._taken += size
        self._taken_by[host] += size
        if not self._taken_by[host]:
            del self._taken_by[host]

    def _limit(self) -> None:
        """Set a deadline for the holders of memory for which other frames wait; remove the deadline of all others."""
        at = asyncio.get_running_loop().time() + HOLD_SECONDS_MAX
        for_all = any(map(self._within_share, self._waiting))
        for hold, host in self._holds.items():
            waited = for_all or host in self._waiting
            if not hold.expired() and waited != (hold.when() is not None):
                hold.reschedule(at if waited else None)

    def _within_share(self, host: str) -> bool:
        """Whether the next waiter of an address waits only for memory that any address uses."""
        used, (size, _) = self._taken_by[host], self._waiting[host][0]
        return not used or used + size <= self._max // 2

    async def _wait(self, size: int, host: str) -> None:
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (size, admitted)
        self._waiting.setdefault(host, deque()).append(waiter)
        self._admit()
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await admitted
        except BaseException as error:
            if admitted.done() and not admitted.cancelled():
                self._use(host, -size)
            elif waiter in self._waiting.get(host, ()):  # otherwise it has already been skipped
                self._remove(host, waiter)
            self._admit()
            if isinstance(error, TimeoutError):
                text = f"frames of other connections left no memory for a frame of {size} bytes"
                raise RefusedError(CloseReason.ROOM, text) from None
            raise

    def _remove(self, host: str, waiter: _Waiter) -> None:
        self._waiting[host].remove(waiter)
        if not self._waiting[host]:
            del self._waiting[host]

    def _admit(self, last: str = "") -> None:
        """Admit waiters; of addresses that use equally much, the one that used memory ``last`` is served last."""
        while hosts := [host for host in self._waiting if self._within_share(host)]:
            host = min(hosts, key=lambda each: (self._taken_by[each], each == last))
            size, admitted = waiter = self._waiting[host][0]
            if self._taken and self._taken + size > self._max:
                break
            self._remove(host, waiter)
            if not admitted.cancelled():
                self._use(host, size)
                admitted.set_result(None)
        self._limit()
