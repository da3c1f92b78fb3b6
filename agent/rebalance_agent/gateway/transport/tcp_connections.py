"""Reads and writes plaintext and TLS connections with one interface, and moves bytes between two connections."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import Callable

from rebalance_agent.gateway.transport.splice import Pipe, Pipes

__all__ = ["COPY_BYTES", "SPLICE_BYTES_MIN", "PeerConnection", "PlainConnection", "TlsConnection", "move", "tuned"]

COPY_BYTES = 256 * 1024
"""Bytes per read when bytes are copied: with smaller reads, system calls would cost more than copying."""

SPLICE_BYTES_MIN = 32 * 1024
"""Minimum number of bytes for which splice(2) is used: below, two copies cost less than the four system calls of a
splice."""

WORTH_BYTES_MAX = 256 * 1024
"""Maximum number of bytes of a frame for which a move waits: waking up costs as much as moving about 100 KiB, and the
receiver needs the whole frame anyway."""

TURNS_MAX = 8
"""Maximum number of consecutive reads or moves without a wait; then other connections get their turn."""

CLOSE_SECONDS_MAX = 5.0
"""Longest wait (seconds) for the last bytes and for TLS's close_notify."""

_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on with 0 seconds: close sends RST."""

_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""TCP keep-alive: a vanished peer is detected after two minutes; brokers close idle connections after ten."""


def tuned(sock: socket.socket) -> socket.socket:
    """Set a TCP socket to non-blocking, no delay, and keep-alive; return it."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return sock


class PlainConnection:
    """A TCP connection without TLS."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        """Take over ``sock``, which must be `tuned`. An event loop must be running."""
        self.peer = peer
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._fd = sock.fileno()
        self._waits: dict[str, asyncio.Future[None]] = {}
        self._watched: set[str] = set()
        self._turns = 0
        self._low = 1
        self._drained = True

    @property
    def local_host(self) -> str:
        """The IP address of the gateway's side; empty once the connection is closed."""
        try:
            return str(self._socket.getsockname()[0])
        except OSError:
            return ""

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._fd

    async def read(self, size_max: int) -> bytes:
        """Return the next bytes, at most ``size_max``; empty at the end. Raises ConnectionError if a read fails."""
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
            # Fewer bytes than requested were read: most likely no more are there, so another recv would be useless.
            self._drained = len(data) < size_max
            await self.turn()
            return data

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of ``data`` to the socket's buffer. Raises ConnectionError if the connection broke."""
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
        """Yield to other tasks after every `TURNS_MAX` calls; call this after work without waiting."""
        self._turns += 1
        if self._turns >= TURNS_MAX:
            self._turns = 0
            await asyncio.sleep(0)

    async def readable(self, worth: int = 1) -> None:
        """Wait for the end or for ``worth`` bytes, but for at most `WORTH_BYTES_MAX` bytes."""
        low = min(worth, WORTH_BYTES_MAX)
        if low != self._low:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low)
            self._low = low
        await self._wait("reader")

    async def writable(self) -> None:
        """Wait until the socket accepts bytes."""
        await self._wait("writer")

    def end(self) -> None:
        """Close the writing direction; reading continues."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """Break the connection: unsent bytes are lost."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._let_go()

    async def close(self) -> None:
        """Close the connection; bytes that were written before still arrive."""
        self._let_go()

    def hung_up(self) -> bool:
        """Whether the peer has closed the connection, even if bytes are left to read."""
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
        """Wait for a ``reader`` or ``writer`` event.

        The descriptor stays registered between two waits of the same kind.
        """
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
            self._unwatch(way)  # no task waits, and the event would fire again and again

    def _unwatch(self, way: str) -> None:
        if way in self._watched:
            self._watched.remove(way)
            (self._loop.remove_reader if way == "reader" else self._loop.remove_writer)(self._fd)


class TlsConnection:
    """A TLS connection that uses asyncio's streams; its methods are those that all connections share."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> None:
        """Take over the streams of a connection after its handshake."""
        self.peer = peer
        self._reader = reader
        self._writer = writer

    @property
    def local_host(self) -> str:
        """See `PlainConnection`."""
        return str((self._writer.get_extra_info("sockname") or ("",))[0])

    async def read(self, size_max: int) -> bytes:
        """See `PlainConnection`."""
        try:
            return await self._reader.read(size_max)
        except OSError as error:  # includes ssl.SSLError
            raise ConnectionResetError(str(error)) from None

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `PlainConnection`."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise ConnectionResetError(str(error)) from None

    def end(self) -> None:
        """See `PlainConnection`; asyncio cannot half-close TLS, so this closes both directions."""
        self._writer.close()

    def abort(self) -> None:
        """See `PlainConnection`."""
        self._writer.transport.abort()

    def hung_up(self) -> bool:
        """See `PlainConnection`; for TLS only asyncio can detect whether the peer has closed the connection."""
        return self._reader.at_eof() or self._writer.transport.is_closing()

    async def close(self) -> None:
        """See `PlainConnection`."""
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


PeerConnection = PlainConnection | TlsConnection
"""A connection to a client or broker. A read and a write may wait at the same time, but not two of a kind."""


async def move(
    source: PeerConnection, target: PeerConnection, size: int, pipes: Pipes, came: Callable[[], None]
) -> int:
    """Move the next ``size`` bytes through a pipe or a buffer of `COPY_BYTES`; return the number of moved bytes.

    The number is less than ``size`` only if ``source`` ended. ``came`` is called whenever bytes have arrived. Raises
    ConnectionError if a connection broke.
    """
    if size >= SPLICE_BYTES_MIN and isinstance(source, PlainConnection) and isinstance(target, PlainConnection):
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
    """Return the error as a ConnectionError: some errors that end a connection (ETIMEDOUT) have another type."""
    return error if isinstance(error, ConnectionError) else ConnectionResetError(error.errno, error.strerror)


async def _spliced(
    source: PlainConnection, target: PlainConnection, size: int, pipe: Pipe, came: Callable[[], None]
) -> int:
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
