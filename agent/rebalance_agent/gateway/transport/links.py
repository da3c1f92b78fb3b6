"""Both ends of what the gateway joins, plaintext or TLS, behind one interface; and bulk moved between them."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import Callable
from typing import Protocol

from rebalance_agent.gateway.transport.splice import Pipe, Pipes

__all__ = ["COPY_BYTES", "SPLICE_BYTES_MIN", "Link", "PlainLink", "TlsLink", "move", "tuned"]

COPY_BYTES = 256 * 1024
"""Read at a time where bytes must be copied: with less, system calls cost more than the copying."""

SPLICE_BYTES_MIN = 32 * 1024
"""Below, two copies cost less than the four system calls of a splice."""

WORTH_BYTES_MAX = 256 * 1024
"""Of a frame that is moved, wait for so much, or its rest, at a time: a wake costs as much as moving some 100 KiB. Who
reads the other end needs the whole frame before it can do anything with it."""

TURNS_MAX = 8
"""Reads or moves that find everything ready, before other connections get their turn."""

CLOSE_SECONDS_MAX = 5.0
"""For the last bytes and TLS' own good-bye; who takes longer is gone."""

_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on, no seconds: close sends RST."""

_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A peer that is gone without a word is noticed after two minutes; brokers end idle connections after ten."""


class Link(Protocol):
    """One end: bytes in, bytes out. A read and a write may wait at the same time, but not two of a kind."""

    peer: str

    async def read(self, size_max: int) -> bytes:
        """What is there, at most ``size_max`` bytes; empty at the end. Raises ConnectionError when it broke."""
        ...

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Return when the peer's side has room for all of it. Raises ConnectionError when it broke."""
        ...

    def end(self) -> None:
        """Nothing more will be written; reading goes on."""
        ...

    def abort(self) -> None:
        """End both directions as a connection breaks: what waits to be sent is lost."""
        ...

    async def close(self) -> None:
        """Let go of it; what was written still arrives."""
        ...

    def hung_up(self) -> bool:
        """Whether the peer has ended, though there may be bytes of it to read."""
        ...


def tuned(sock: socket.socket) -> socket.socket:
    """A TCP socket that sends at once, notices a peer that vanished, and never blocks."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return sock


class PlainLink:
    """A TCP connection without TLS."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        """``sock`` is `tuned` and from now on this link's. Made inside the running event loop."""
        self.peer = peer
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._fd = sock.fileno()
        self._waits: dict[str, asyncio.Future[None]] = {}
        self._watched: set[str] = set()
        self._turns = 0
        self._low = 1
        self._drained = True

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._fd

    async def read(self, size_max: int) -> bytes:
        """See `Link`."""
        while True:
            if self._drained:
                await self.readable()
            try:
                data = self._socket.recv(size_max)
            except (BlockingIOError, InterruptedError):
                self._drained = True
                continue
            except OSError as error:
                raise _break(error) from None
            # Less than was asked for: most likely there is no more, and asking the kernel would be in vain.
            self._drained = len(data) < size_max
            await self.turn()
            return data

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `Link`."""
        with memoryview(data) as view:
            sent = 0
            while sent < len(view):
                try:
                    sent += self._socket.send(view[sent:])
                except (BlockingIOError, InterruptedError):
                    await self.writable()
                except OSError as error:
                    raise _break(error) from None

    async def turn(self) -> None:
        """Called after work for which nothing had to be waited: now and then others go first."""
        self._turns += 1
        if self._turns >= TURNS_MAX:
            self._turns = 0
            await asyncio.sleep(0)

    async def readable(self, worth: int = 1) -> None:
        """Wait until there is something to read, or the end; of ``worth`` bytes to come, until it is worth a wake."""
        low = min(worth, WORTH_BYTES_MAX)
        if low != self._low:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low)
            self._low = low
        await self._wait("reader")

    async def writable(self) -> None:
        """Wait until there is room to write."""
        await self._wait("writer")

    def end(self) -> None:
        """See `Link`."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """See `Link`."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._let_go()

    async def close(self) -> None:
        """See `Link`."""
        self._let_go()

    def hung_up(self) -> bool:
        """See `Link`."""
        poll = select.poll()
        poll.register(self._fd, _HUNG_UP)
        return bool(poll.poll(0))

    def _let_go(self) -> None:
        if self._socket.fileno() < 0:
            return
        self._unwatch("reader")
        self._unwatch("writer")
        self._socket.close()
        for wait in self._waits.values():
            if not wait.done():
                wait.set_exception(ConnectionAbortedError("the gateway closed this connection"))

    async def _wait(self, way: str) -> None:
        """The descriptor stays watched between two waits of a kind: most answers are waited for."""
        if self._socket.fileno() < 0:
            raise ConnectionAbortedError("the gateway closed this connection")
        self._turns = 0
        self._waits[way] = wait = self._loop.create_future()
        if way not in self._watched:
            watch = self._loop.add_reader if way == "reader" else self._loop.add_writer
            watch(self._fd, self._ready, way)
            self._watched.add(way)
        try:
            await wait
        finally:
            del self._waits[way]

    def _ready(self, way: str) -> None:
        wait = self._waits.get(way)
        if wait and not wait.done():
            wait.set_result(None)
        else:
            self._unwatch(way)  # nobody waits: it would be told again and again

    def _unwatch(self, way: str) -> None:
        if way in self._watched:
            self._watched.remove(way)
            (self._loop.remove_reader if way == "reader" else self._loop.remove_writer)(self._fd)


class TlsLink:
    """A connection on asyncio's TLS."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> None:
        """After the handshake."""
        self.peer = peer
        self._reader = reader
        self._writer = writer

    async def read(self, size_max: int) -> bytes:
        """See `Link`."""
        try:
            return await self._reader.read(size_max)
        except OSError as error:  # TLS' errors are such, too
            raise ConnectionResetError(str(error)) from None

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `Link`."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise ConnectionResetError(str(error)) from None

    def end(self) -> None:
        """See `Link`; TLS has no half-close, and brokers answer nobody who has ended."""
        self._writer.close()

    def abort(self) -> None:
        """See `Link`."""
        self._writer.transport.abort()

    def hung_up(self) -> bool:
        """See `Link`; behind TLS only asyncio knows."""
        return self._reader.at_eof() or self._writer.transport.is_closing()

    async def close(self) -> None:
        """See `Link`."""
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


async def move(source: Link, target: Link, size: int, pipes: Pipes, came: Callable[[], None]) -> int:
    """Move the next ``size`` bytes, with no more of them here at a time than a pipe or `COPY_BYTES` holds.

    ``came`` is called whenever some of them have come. Gives how many were moved: less than ``size`` only if ``source``
    ended. Raises ConnectionError when one broke.
    """
    if size >= SPLICE_BYTES_MIN and isinstance(source, PlainLink) and isinstance(target, PlainLink):
        with pipes.pipe() as pipe:
            if pipe:
                try:
                    return await _spliced(source, target, size, pipe, came)
                except OSError as error:
                    raise _break(error) from None
    moved = 0
    while moved < size:
        data = await source.read(min(size - moved, COPY_BYTES))
        if not data:
            break
        came()
        await target.write(data)
        moved += len(data)
    return moved


def _break(error: OSError) -> ConnectionError:
    """How a connection broke. Not all that ends one is a ConnectionError to Python: a peer that vanished is none."""
    return error if isinstance(error, ConnectionError) else ConnectionResetError(error.errno, error.strerror)


async def _spliced(source: PlainLink, target: PlainLink, size: int, pipe: Pipe, came: Callable[[], None]) -> int:
    moved = 0
    while moved < size:
        count = pipe.fill(source.fileno(), size - moved)
        if count is None:
            await source.readable(size - moved)
            continue
        if not count:
            break
        came()
        while pipe.held:
            if not pipe.drain(target.fileno()):
                await target.writable()
        moved += count
        await source.turn()
    return moved
