"""Limits the memory that all connections together use for frames that are read whole."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError

__all__ = ["BUDGET_BYTES", "HOLD_SECONDS_MAX", "SMALL_BYTES", "WAIT_SECONDS_MAX", "FrameMemory", "FrameMemoryBudget"]

BUDGET_BYTES = 64 * 1024 * 1024
"""Maximum number of bytes of all large frames together: a few dozen responses with every partition of a large
cluster."""

SMALL_BYTES = 16 * 1024
"""A frame is not counted while it has at most this many bytes: as many fit into a connection's buffer."""

WAIT_SECONDS_MAX = 30.0
"""Longest wait (seconds) for memory: as long as clients' request timeout."""

HOLD_SECONDS_MAX = 20.0
"""Longest use (seconds) of memory while other frames wait for memory. It is below `WAIT_SECONDS_MAX`, so that a client
that does not read does not affect other clients."""


@dataclass(eq=False)
class FrameMemory:
    """The memory of one frame: ``used`` bytes of the budget, and ``wanted`` bytes while it waits for more."""

    budget: FrameMemoryBudget
    host: str
    urgent: bool
    deadline: asyncio.Timeout
    used: int = 0
    wanted: int = 0
    admitted: asyncio.Future[None] | None = None

    async def grow(self, size: int) -> None:
        """Wait until the frame may have ``size`` bytes in memory.

        Raises:
            RefusedError: the wait exceeded `WAIT_SECONDS_MAX`.
        """
        if size > max(SMALL_BYTES, self.used):
            await self.budget.grow(self, size - self.used)


class FrameMemoryBudget:
    """A byte budget shared by all connections, of which one address gets at most half.

    A frame uses memory for the bytes that arrived, not for the size that its length field claims. The address that uses
    the fewest bytes is served first, and the frames of one address that wait are served in order. Partial frames could
    wait for each other, so the oldest frame may exceed the budget, and the oldest frame of each address may exceed the
    address's half.

    A frame may use memory for any time while no other frame waits for it, and for `HOLD_SECONDS_MAX` once another frame
    waits.
    """

    def __init__(self, bytes_max: int = BUDGET_BYTES) -> None:
        """Allow ``bytes_max`` bytes."""
        self._max, self._taken = bytes_max, 0
        self._taken_by: Counter[str] = Counter()
        self._waiting: dict[str, deque[FrameMemory]] = {}
        # The frames that use memory, oldest first: all, and those of each address.
        self._users: dict[FrameMemory, None] = {}
        self._users_of: dict[str, dict[FrameMemory, None]] = {}

    @contextlib.asynccontextmanager
    async def frame(self, host: str, *, urgent: bool = False) -> AsyncIterator[FrameMemory]:
        """Provide memory for a frame of a client with the address ``host``, until the block ends.

        ``urgent``: do not wait, since other frames wait for this one.

        Raises:
            RefusedError: the block occupied memory for too long while other frames waited.
        """
        deadline = asyncio.timeout(None)
        frame = FrameMemory(self, host, urgent, deadline)
        try:
            async with deadline:
                yield frame
        except TimeoutError:
            if not deadline.expired():
                raise
            text = f"a frame occupied {frame.used} bytes for too long while other frames waited for memory"
            raise RefusedError(CloseReason.SLOW, text) from None
        finally:
            self._free(frame)

    async def grow(self, frame: FrameMemory, size: int) -> None:
        """See `FrameMemory.grow`; ``size``: additional bytes."""
        if frame.urgent:
            self._use(frame, size)
            return
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        frame.wanted, frame.admitted = size, admitted
        self._waiting.setdefault(frame.host, deque()).append(frame)
        self._admit()
        if admitted.done():
            return
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await admitted
        except BaseException as error:
            if frame.admitted is admitted:
                self._stop_waiting(frame)
                self._admit()
            if isinstance(error, TimeoutError):
                text = f"frames of other connections left no memory for a frame of {frame.used + size} bytes or more"
                raise RefusedError(CloseReason.ROOM, text) from None
            raise

    def _use(self, frame: FrameMemory, size: int) -> None:
        frame.used += size
        self._taken += size
        self._taken_by[frame.host] += size
        self._users[frame] = self._users_of.setdefault(frame.host, {})[frame] = None

    def _free(self, frame: FrameMemory) -> None:
        if not frame.used:
            return
        self._taken -= frame.used
        self._taken_by[frame.host] -= frame.used
        del self._users[frame], self._users_of[frame.host][frame]
        if not self._users_of[frame.host]:
            del self._users_of[frame.host], self._taken_by[frame.host]
        self._admit(frame.host)

    def _stop_waiting(self, frame: FrameMemory) -> None:
        frame.admitted = None
        self._waiting[frame.host].remove(frame)
        if not self._waiting[frame.host]:
            del self._waiting[frame.host]

    def _admit(self, last: str = "") -> None:
        """Admit waiters; of addresses that use equally much, the one that used memory ``last`` is served last."""
        while (frame := self._next(last)) is not None:
            admitted = frame.admitted
            self._stop_waiting(frame)
            if admitted is not None and not admitted.cancelled():
                self._use(frame, frame.wanted)
                admitted.set_result(None)
        self._limit()

    def _next(self, last: str) -> FrameMemory | None:
        oldest = next(iter(self._users), None)
        if oldest is not None and oldest.admitted is not None:
            return oldest
        fitting = [frame for host in self._waiting if self._within_share(frame := self._first(host))]
        if not fitting:
            return None
        frame = min(fitting, key=lambda each: (self._taken_by[each.host], each.host == last))
        fits = self._taken in (0, frame.used) or self._taken + frame.wanted <= self._max
        return frame if fits else None

    def _first(self, host: str) -> FrameMemory:
        """Return the waiter of an address that is served next: its oldest frame, or the one that waits longest."""
        oldest = next(iter(self._users_of.get(host, ())), None)
        return oldest if oldest is not None and oldest.admitted is not None else self._waiting[host][0]

    def _within_share(self, frame: FrameMemory) -> bool:
        """Whether a waiter waits only for memory that any address uses."""
        if self._taken_by[frame.host] + frame.wanted <= self._max // 2:
            return True
        return frame is next(iter(self._users_of.get(frame.host, (frame,))))

    def _limit(self) -> None:
        """Set a deadline for the users of memory for which other frames wait; remove the deadline of all others."""
        at = asyncio.get_running_loop().time() + HOLD_SECONDS_MAX
        for_all = any(self._within_share(self._first(host)) for host in self._waiting)
        for frame in self._users:
            # A frame that waits itself has the deadline of its wait.
            waited = frame.admitted is None and (for_all or frame.host in self._waiting)
            if not frame.deadline.expired() and waited != (frame.deadline.when() is not None):
                frame.deadline.reschedule(at if waited else None)
