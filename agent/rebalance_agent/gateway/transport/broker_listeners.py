"""A port for every broker: opened when an answer names it, closed when it is gone for good."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.rate_limited_log import RateLimitedLog
from rebalance_agent.gateway.transport.addresses import NODES_MAX, Address
from rebalance_agent.gateway.transport.free_ports import (
    PORT_MAX,
    address_problem,
    bound,
    broker_port,
    ephemeral_ports,
    held,
)

__all__ = ["GONE_SECONDS", "AcceptLoop", "Accepted", "BrokerListener", "BrokerListeners", "Opened"]

GONE_SECONDS = 300.0
"""A broker that Metadata does not name for so long is gone, not restarting; its port may then be closed."""

NO_ROOM_SECONDS = 0.2
"""Pause when the process has no descriptor left for a connection that waits."""

_log = logging.getLogger(__name__)


class AcceptLoop:
    """A listening socket whose connections are handed on."""

    def __init__(self, sock: socket.socket, accepted: Callable[[socket.socket], None], told: RateLimitedLog) -> None:
        """``accepted`` owns each connection it is given. Made inside the running event loop."""
        self.port: int = sock.getsockname()[1]
        self._socket, self._accepted, self._told = sock, accepted, told
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._watch()

    def close(self) -> None:
        """Take no more."""
        if self._pause:
            self._pause.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def _watch(self) -> None:
        self._loop.add_reader(self._socket, self._ready)

    def _ready(self) -> None:
        # Not by a task that accepts: cancelled in the wrong moment it would lose a connection that nobody then closes.
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:  # it broke before it was taken, or there are no descriptors
            self._told.warn("accept", "a connection to port %s was not taken: %s", self.port, error.strerror)
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(NO_ROOM_SECONDS, self._watch)
            return
        connection.setblocking(False)
        self._accepted(connection)


@dataclass(slots=True)
class BrokerListener:
    """One broker's: where it really is, who is connected to it, and when it was last named.

    ``problem``: why clients cannot reach it through here; without a ``door`` or at an address that is none.
    """

    node: int
    address: Address
    seen: float
    door: AcceptLoop | None = None
    problem: str = ""
    connections: int = 0


Accepted = Callable[[socket.socket, BrokerListener], None]

Opened = Callable[[int, Mapping[int, str]], None]
"""Told how many brokers have a port here, and of each that clients cannot reach why."""


class BrokerListeners:
    """Those of one gateway; see `rebalance_agent.gateway.transport.addresses.Nodes`.

    A broker that has no port here must neither be left out of an answer, which clients would take for its end, nor end
    the answer for all the others. It gets the address of a port that takes no connection, and so is down to clients,
    who try again; another program's port it never gets, since they would send their credentials there.
    """

    def __init__(
        self, host: str, port_base: int, advertised: str, accepted: Accepted, opened: Opened, clock: Clock
    ) -> None:
        """Port ``port_base`` plus node id, or any free one with base 0; ``advertised`` is the host told to clients."""
        self._host, self._port_base, self._advertised = host, port_base, advertised
        self._accepted, self._opened, self._clock = accepted, opened, clock
        self._listeners: dict[int, BrokerListener] = {}
        self._warnings = RateLimitedLog(_log, clock)
        self._told = clock.monotonic()
        self._ephemeral = ephemeral_ports()
        self._nowhere: socket.socket | None = None
        self._shut = 0
        self._closed = False

    def start(self) -> None:
        """Hold the port that takes no connection. Raises OSError where ``host`` has none to give."""
        self._nowhere = held(self._host)
        self._shut = int(self._nowhere.getsockname()[1])

    async def local(self, nodes: Mapping[int, Address], *, complete: bool = False) -> Mapping[int, Address]:
        """See `Nodes`."""
        now = self._clock.monotonic()
        if complete and nodes:
            self._told = now
        ports = {node: (self._advertised, self._port(node, address, now)) for node, address in nodes.items()}
        self._tell()
        return ports

    def ports(self) -> Mapping[int, int]:
        """Node id -> port, of those that are listened for."""
        return {node: each.door.port for node, each in sorted(self._listeners.items()) if each.door}

    def sweep(self) -> None:
        """Close the ports of brokers that are gone, and that nobody is connected to; try again what was not opened."""
        for node, listener in list(self._listeners.items()):
            # Only what was told since then proves that it is gone: without any client nothing is told.
            if self._told - listener.seen > GONE_SECONDS and not listener.connections:
                del self._listeners[node]
                _log.info("broker %s is gone: its port is closed", node)
                if listener.door:
                    listener.door.close()
            else:
                self._open(listener)
        self._tell()

    def close(self) -> None:
        """Close all of them, and open no more; connections go on, and may still be told of brokers."""
        self._closed = True
        if self._nowhere:
            self._nowhere.close()
        listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            if listener.door:
                listener.door.close()

    def _port(self, node: int, address: Address, now: float) -> int:
        listener = self._listeners.get(node)
        if listener is None:
            if len(self._listeners) >= NODES_MAX:
                self._warnings.warn("room", "broker %s gets no port: %s others have one", node, NODES_MAX)
                return self._shut
            listener = self._listeners[node] = BrokerListener(node, address, now)
        if listener.address != address:
            if not address_problem(address):
                _log.info("broker %s is now at %s port %s", node, *address)
            listener.address = address
        listener.seen = now
        self._open(listener)
        return self._shut if listener.problem or listener.door is None else listener.door.port

    def _open(self, listener: BrokerListener) -> None:
        """Open the broker's port, if it is not; or note why that cannot be."""
        before, listener.problem = listener.problem, address_problem(listener.address)
        if listener.door is None and not listener.problem:
            listener.problem = self._listen(listener, broker_port(self._port_base, listener.node))
        if listener.problem and listener.problem != before:
            self._warnings.warn("shut", "broker %s is down to clients here: %s", listener.node, listener.problem)

    def _listen(self, listener: BrokerListener, port: int) -> str:
        if self._closed:
            return "the gateway ends"
        if port > PORT_MAX:
            return f"it would have port {port}: choose a lower gateway_port_base, or 0 for any port"
        try:
            sock = bound(self._host, port)
        except OSError as error:
            return f"cannot listen on {self._host} port {port}: {error.strerror or error}"
        listener.door = AcceptLoop(sock, lambda connection: self._accepted(connection, listener), self._warnings)
        _log.info("broker %s is reached through port %s", listener.node, listener.door.port)
        if port in self._ephemeral:
            text = (
                "port %s of broker %s is among those that this system gives to any connection (%s to %s): at a restart "
                "another may have it; choose a lower gateway_port_base"
            )
            ends = self._ephemeral.start, self._ephemeral.stop - 1
            self._warnings.warn("ephemeral", text, port, listener.node, *ends)
        return ""

    def _tell(self) -> None:
        problems = {node: each.problem for node, each in sorted(self._listeners.items()) if each.problem}
        self._opened(sum(1 for each in self._listeners.values() if each.door and not each.problem), problems)
