"""Opens a listening port for each broker that a response names, and closes it when the broker is removed."""

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
    ephemeral_ports,
    listening_socket,
    reserved_socket,
)

__all__ = ["GONE_SECONDS", "AcceptLoop", "Accepted", "BrokerListener", "BrokerListeners", "Opened"]

GONE_SECONDS = 300.0
"""Seconds after which a broker missing from Metadata counts as removed, not restarting, and its port is closed."""

ACCEPTED_MAX = 20
"""Maximum number of connections accepted in one pass of the event loop: a millisecond's work."""

NO_DESCRIPTOR_SECONDS = 0.2
"""Pause (seconds) before accepting again after an error, for example if no file descriptor is left."""

_log = logging.getLogger(__name__)


class AcceptLoop:
    """Accepts connections on a listening socket and passes them to ``accepted``."""

    def __init__(
        self, sock: socket.socket, accepted: Callable[[socket.socket], None], warnings: RateLimitedLog
    ) -> None:
        """Start accepting, in the running event loop; ``accepted`` must close each connection."""
        self.port: int = sock.getsockname()[1]
        self._socket, self._accepted, self._warnings = sock, accepted, warnings
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._watch()

    def close(self) -> None:
        """Close the listening socket."""
        if self._pause:
            self._pause.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def _watch(self) -> None:
        self._loop.add_reader(self._socket, self._ready)

    def _ready(self) -> None:
        # Accept several: in the kernel's queue, a client waits behind all connections that other clients have opened.
        for _ in range(ACCEPTED_MAX):
            if not self._accept():
                return

    def _accept(self) -> bool:
        """Accept a connection; return whether there was one."""
        # Accept outside a task: a task cancelled at the wrong moment would leave an accepted connection open.
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:  # the connection broke before it was accepted, or there are no descriptors
            self._warnings.warn("accept", "a connection to port %s was not accepted: %s", self.port, error.strerror)
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(NO_DESCRIPTOR_SECONDS, self._watch)
            return False
        connection.setblocking(False)
        self._accepted(connection)
        return True


@dataclass(slots=True)
class BrokerListener:
    """The gateway's port for one broker.

    ``address``: the broker's real address; ``seen``: when a response last named it (monotonic seconds);
    ``connections``: the number of connected clients. ``problem``: why clients cannot reach the broker (no
    ``accept_loop``, or an invalid address); empty if they can.
    """

    node: int
    address: Address
    seen: float
    accept_loop: AcceptLoop | None = None
    problem: str = ""
    connections: int = 0


Accepted = Callable[[socket.socket, BrokerListener], None]

Opened = Callable[[int, Mapping[int, str]], None]
"""Called with the number of brokers that have a port, and node id -> problem for brokers that are out of reach."""


class BrokerListeners:
    """The ports of one gateway for all brokers; implements `Nodes` of `rebalance_agent.gateway.transport.addresses`.

    A broker without a port must not be left out of a response, since clients would consider it removed. Such a broker
    must not make the response fail either. It gets the address of a port that accepts no connections: clients consider
    it down and try again. It never gets another program's port, since clients would send their credentials there.
    """

    def __init__(
        self, host: str, port_base: int, advertised: str, accepted: Accepted, opened: Opened, clock: Clock
    ) -> None:
        """Use port ``port_base`` plus node id (0: any free port); ``advertised`` is the host name in responses."""
        self._host, self._port_base, self._advertised = host, port_base, advertised
        self._accepted, self._opened, self._clock = accepted, opened, clock
        self._listeners: dict[int, BrokerListener] = {}
        self._warnings = RateLimitedLog(_log, clock)
        self._named_at = clock.monotonic()
        self._ephemeral = ephemeral_ports()
        self._refusing_socket: socket.socket | None = None
        self._refusing_port = 0
        self._closed = False

    def start(self) -> None:
        """Reserve the port that accepts no connections. Raises OSError if ``host`` has no free port."""
        self._refusing_socket = reserved_socket(self._host)
        self._refusing_port = int(self._refusing_socket.getsockname()[1])

    async def local(self, nodes: Mapping[int, Address], *, complete: bool = False) -> Mapping[int, Address]:
        """See `Nodes`."""
        now = self._clock.monotonic()
        if complete and nodes:
            self._named_at = now
        ports = {node: (self._advertised, self._port(node, address, now)) for node, address in nodes.items()}
        self._report()
        return ports

    def ports(self) -> Mapping[int, int]:
        """Return node id -> port, for each broker that has a port."""
        return {
            node: listener.accept_loop.port
            for node, listener in sorted(self._listeners.items())
            if listener.accept_loop
        }

    def sweep(self) -> None:
        """Close the ports of removed brokers that have no connections; try again to open missing ports."""
        for node, listener in list(self._listeners.items()):
            # Only a later Metadata response proves that the broker was removed; without clients, no response arrives.
            if self._named_at - listener.seen > GONE_SECONDS and not listener.connections:
                del self._listeners[node]
                _log.info("broker %s left the cluster: its port is closed", node)
                if listener.accept_loop:
                    listener.accept_loop.close()
            else:
                self._open(listener)
        self._report()

    def close(self) -> None:
        """Close all ports and open no more. Open connections continue, and their responses still get addresses."""
        self._closed = True
        if self._refusing_socket:
            self._refusing_socket.close()
        listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            if listener.accept_loop:
                listener.accept_loop.close()

    def _port(self, node: int, address: Address, now: float) -> int:
        listener = self._listeners.get(node)
        if listener is None:
            if len(self._listeners) >= NODES_MAX:
                self._warnings.warn("room", "broker %s gets no port: %s brokers already have one", node, NODES_MAX)
                return self._refusing_port
            listener = self._listeners[node] = BrokerListener(node, address, now)
        if listener.address != address:
            if not address_problem(address):
                _log.info("broker %s is now at %s port %s", node, *address)
            listener.address = address
        listener.seen = now
        self._open(listener)
        return self._refusing_port if listener.problem or listener.accept_loop is None else listener.accept_loop.port

    def _open(self, listener: BrokerListener) -> None:
        """Open the broker's port if it is not open, or record why this is impossible."""
        before, listener.problem = listener.problem, address_problem(listener.address)
        if listener.accept_loop is None and not listener.problem:
            listener.problem = self._listen(listener, self._port_base and self._port_base + listener.node)
        if listener.problem and listener.problem != before:
            self._warnings.warn(
                "shut", "clients of this gateway cannot reach broker %s: %s", listener.node, listener.problem
            )

    def _listen(self, listener: BrokerListener, port: int) -> str:
        if self._closed:
            return "the gateway is stopping"
        if port > PORT_MAX:
            return f"it would get port {port}: choose a lower gateway_port_base, or 0 for any port"
        try:
            sock = listening_socket(self._host, port)
        except OSError as error:
            problem = f"cannot listen on {self._host} port {port}: {error.strerror or error}"
            return f"{problem}; choose another gateway_port_base" if port else problem
        listener.accept_loop = AcceptLoop(sock, lambda connection: self._accepted(connection, listener), self._warnings)
        _log.info("broker %s is reached through port %s", listener.node, listener.accept_loop.port)
        if port in self._ephemeral:
            text = (
                "port %s of broker %s is in the range that this system uses for outgoing connections (%s to %s): "
                "after a restart another process may have it; choose a lower gateway_port_base"
            )
            ends = self._ephemeral.start, self._ephemeral.stop - 1
            self._warnings.warn("ephemeral", text, port, listener.node, *ends)
        return ""

    def _report(self) -> None:
        problems = {node: listener.problem for node, listener in sorted(self._listeners.items()) if listener.problem}
        self._opened(
            sum(1 for listener in self._listeners.values() if listener.accept_loop and not listener.problem), problems
        )
