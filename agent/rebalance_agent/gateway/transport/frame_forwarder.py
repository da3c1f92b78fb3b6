"""Forwards frames in order in one direction between a client and a broker; most frames are not read."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.gateway_counters import Direction
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.splice import Pipes
from rebalance_agent.gateway.transport.tcp_connections import PeerConnection, move

__all__ = ["READ_BYTES", "WHOLE_SECONDS_MAX", "FrameForwarder"]

READ_BYTES = 16 * 1024
"""Bytes per read: dozens of small frames, or the beginning of a large frame, whose rest is then moved unread. Each
of a thousand connections can have as many bytes in memory, in both directions."""

WHOLE_SECONDS_MAX = 30.0
"""Longest time (seconds) for a whole frame to arrive, since it uses memory: as long as clients' request timeouts."""

_LENGTH = struct.Struct(">i")


class FrameForwarder:
    """Forwards frames from ``source`` to ``target``, with at most one write for each read.

    Any task may call `put`, which writes between two frames; all other methods are for one task.
    """

    def __init__(
        self, source: PeerConnection, target: PeerConnection, pipes: Pipes, direction: Direction, clock: Clock
    ) -> None:
        """``direction`` counts the written bytes, and the time between arrival and writing."""
        self._source, self._target, self._pipes, self._direction = source, target, pipes, direction
        self._clock = clock
        self._came_at = 0.0  # when the newest bytes arrived, in monotonic seconds
        self._held = b""
        self._run = 0  # start of those forwarded frames in _held that are not yet written
        self._at = 0  # start of the next frame in _held: the end of the forwarded frames
        self._size = 0
        self._writing = asyncio.Lock()
        self._writes = 0

    @property
    def blocked(self) -> int:
        """The number of the current write, or -1. The same number twice means that the target accepts no bytes."""
        return self._writes if self._writing.locked() else -1

    async def next(self) -> int | None:
        """Return the size of the next frame in bytes, without its length field; None if the source has ended."""
        if not await self._have(_LENGTH.size):
            if len(self._held) > self._at:
                raise RefusedError(CloseReason.TRUNCATED, "the connection ended inside a frame's length")
            return None
        (self._size,) = _LENGTH.unpack_from(self._held, self._at)
        return self._size

    async def first(self, size: int) -> bytes:
        """Return the first ``size`` bytes of the next frame (all of a shorter frame), without removing them."""
        size = min(size, self._size)
        if not await self._have(_LENGTH.size + size):
            raise self._truncated()
        start = self._at + _LENGTH.size
        return self._held[start : start + size]

    async def whole(self, grow: Callable[[int], Awaitable[None]]) -> bytes:
        """Remove and return the whole next frame; it is not forwarded.

        ``grow`` is awaited before more bytes are read, with the number of bytes that the frame will have in memory.
        """
        end = self._at + _LENGTH.size + self._size
        if end > len(self._held):
            return await self._collected(grow)
        frame = self._held[self._at + _LENGTH.size : end]
        await self.flush()
        self._run = self._at = end
        return frame

    async def pass_on(self, registered: Callable[[], None] | None = None) -> None:
        """Forward the next frame unchanged; ``registered`` is called once the frame's place in the order is fixed."""
        end = self._at + _LENGTH.size + self._size
        if end <= len(self._held):
            if registered:
                registered()
            self._at = end
            return
        async with self._writing:
            if registered:
                registered()
            data, self._held = self._held[self._run :], b""
            rest = end - self._run - len(data)
            self._run = self._at = 0
            await self._write(data)
            moved = await move(self._source, self._target, rest, self._pipes, self._came)
            self._direction.sent(moved)
        if moved < rest:
            raise self._truncated()
        self._passed()

    async def put(self, frame: bytes, registered: Callable[[], None] | None = None) -> None:
        """Send the gateway's own frame, or a frame that was removed and changed; ``registered``: see `pass_on`."""
        async with self._writing:
            await self._flush()
            if registered:
                registered()
            # While the target accepts no bytes, only one copy of the frame stays in memory.
            frame = _LENGTH.pack(len(frame)) + frame
            await self._write(frame)

    async def flush(self) -> None:
        """Write the forwarded frames that have not been written yet."""
        if self._run < self._at:
            async with self._writing:
                await self._flush()

    async def _flush(self) -> None:
        while self._run < self._at:
            data = self._held if (self._run, self._at) == (0, len(self._held)) else self._held[self._run : self._at]
            self._run = self._at
            await self._write(data)
            self._passed()

    async def _write(self, data: bytes) -> None:
        self._writes += 1
        await self._target.write(data)
        self._direction.sent(len(data))

    async def _have(self, size: int) -> bool:
        while len(self._held) - self._at < size:
            await self.flush()
            # Keep no buffer between frames: most connections are idle most of the time.
            self._held, self._run, self._at = self._held[self._at :], 0, 0
            data = await self._source.read(READ_BYTES)
            if not data:
                return False
            self._came()
            self._held = self._held + data if self._held else data
        return True

    def _came(self) -> None:
        self._came_at = self._clock.monotonic()

    def _passed(self) -> None:
        self._direction.passed(self._clock.monotonic() - self._came_at)

    async def _collected(self, grow: Callable[[int], Awaitable[None]]) -> bytes:
        await self.flush()
        frame = bytearray(self._held[self._at + _LENGTH.size :])
        self._held, self._run, self._at = b"", 0, 0
        seconds, time = WHOLE_SECONDS_MAX, asyncio.get_running_loop().time
        while missing := self._size - len(frame):
            size = min(self._size, (len(frame) // READ_BYTES + 1) * READ_BYTES)
            await grow(size)
            begun = time()  # the wait for memory is not the client's delay
            try:
                async with asyncio.timeout(seconds):
                    data = await self._source.read(size - len(frame))
            except TimeoutError:
                text = f"{missing} of {self._size} bytes of a frame did not arrive within {WHOLE_SECONDS_MAX:.0f} s"
                raise RefusedError(CloseReason.SLOW, text) from None
            if not data:
                raise self._truncated()
            seconds -= time() - begun
            frame += data
        return bytes(frame)

    def _truncated(self) -> RefusedError:
        return RefusedError(CloseReason.TRUNCATED, f"the connection ended inside a frame of {self._size} bytes")
