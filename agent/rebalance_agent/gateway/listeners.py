"""A port for every broker: opened when an answer names it, closed when it is gone for good."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.addresses import Address
from rebalance_agent.gateway.refusal import Refusal, RefusedError
from rebalance_agent.gateway.told import Told

__all__ = ["GONE_SECONDS", "Accepted", "Door", "Listener", "Listeners", "bound"]

GONE_SECONDS = 300.0
"""A broker that Metadata does not name for so long is gone, not restarting; its port may then be closed."""

BACKLOG = 128
PORT_MAX = 65_535
NO_ROOM_SECONDS = 0.2
"""Pause when the process has no descriptor left for a connection that waits."""

_log = logging.getLogger(__name__)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens on ``host`` and ``port`` (0: any that is free). Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    sock = socket.create_server((str(address[0]), port), family=family, backlog=BACKLOG)
    sock.setblocking(False)
    return sock


class Door:
    """A listening socket whose connections are handed on."""

    def __init__(self, sock: socket.socket, accepted: Callable[[socket.socket], None], told: Told) -> None:
        """``accepted`` owns each connection it is given. Made inside the running event loop."""
        self.port: int = sock.getsockname()[1]
        self._socket, self._accepted, self._told = sock, accepted, told
        self._task = asyncio.get_running_loop().create_task(self._accepting())

    async def close(self) -> None:
        """Take no more."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._socket.close()

    async def _accepting(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._socket)
            except OSError as error:  # it broke before it was taken, or there are no descriptors
                self._told.warn("accept", "a connection to port %s was not taken: %s", self.port, error.strerror)
                await asyncio.sleep(NO_ROOM_SECONDS)
                continue
            self._accepted(connection)


@dataclass(slots=True)
class Listener:
    """One broker's: where it really is, who is connected to it, and when it was last named."""

    node: int
    address: Address
    seen: float
    door: Door | None = None
    connections: int = 0


Accepted = Callable[[socket.socket, Listener], None]


class Listeners:
    """Those of one gateway; see `rebalance_agent.gateway.addresses.Nodes`."""

    def __init__(
        self,
        host: str,
        port_base: int,
        advertised: str,
        accepted: Accepted,
        counted: Callable[[int], None],
        clock: Clock,
    ) -> None:
        """Port ``port_base`` plus node id, or any free one with base 0; ``advertised`` is the host told to clients.

        ``counted`` is told how many there are.
        """
        self._counted = counted
        self._host, self._port_base, self._advertised = host, port_base, advertised
        self._accepted, self._clock = accepted, clock
        self._listeners: dict[int, Listener] = {}
        self._warnings = Told(_log, clock)
        self._told = clock.monotonic()

    async def local(self, nodes: Mapping[int, Address], *, complete: bool = False) -> Mapping[int, Address]:
        """See `Nodes`."""
        now = self._clock.monotonic()
        if complete and nodes:
            self._told = now
        ports = {}
        for node, address in nodes.items():
            listener = self._listeners.get(node)
            if listener is None:
                listener = self._listeners[node] = Listener(node, address, now)
            if listener.address != address:
                _log.info("broker %s is now at %s port %s", node, *address)
                listener.address = address
            listener.seen = now
            ports[node] = (self._advertised, self._port(listener))
        return ports

    def addresses(self) -> Iterable[Address]:
        """Where brokers are that were named lately."""
        return [listener.address for listener in self._listeners.values()]

    def ports(self) -> Mapping[int, int]:
        """Node id -> port, of those that are listened for."""
        return {node: each.door.port for node, each in sorted(self._listeners.items()) if each.door}

    async def sweep(self) -> None:
        """Close the ports of brokers that are gone, and that nobody is connected to."""
        for node, listener in list(self._listeners.items()):
            # Only what was told since then proves that it is gone: without any client nothing is told.
            if self._told - listener.seen > GONE_SECONDS and not listener.connections:
                del self._listeners[node]
                _log.info("broker %s is gone: its port is closed", node)
                if listener.door:
                    await listener.door.close()
        self._counted(len(self.ports()))

    async def close(self) -> None:
        """Close all of them; connections go on."""
        listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            if listener.door:
                await listener.door.close()

    def _port(self, listener: Listener) -> int:
        if listener.door is None:
            port = self._port_base + listener.node if self._port_base else 0
            listener.door = self._opened(listener, port)
            _log.info("broker %s is reached through port %s", listener.node, listener.door.port)
        return listener.door.port

    def _opened(self, listener: Listener, port: int) -> Door:
        if port > PORT_MAX:
            text = f"broker {listener.node} would have port {port}: choose a lower gateway_port_base, or 0 for any port"
            raise RefusedError(Refusal.NO_LISTENER, text)
        try:
            sock = bound(self._host, port)
        except OSError as error:
            # Another's port must not be given to clients: they would send it their credentials.
            text = f"cannot listen on {self._host} port {port} for broker {listener.node}: {error.strerror}"
            raise RefusedError(Refusal.NO_LISTENER, text) from None
        self._counted(sum(1 for each in self._listeners.values() if each.door) + 1)
        return Door(sock, lambda connection: self._accepted(connection, listener), self._warnings)
