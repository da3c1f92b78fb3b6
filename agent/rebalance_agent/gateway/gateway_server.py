"""The gateway's server: a bootstrap port, a port for each broker, and a relay for each connection of a client."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from rebalance_agent.clock import Clock
from rebalance_agent.errors import ListenError
from rebalance_agent.gateway.connection_interceptor import ConnectionInterceptor
from rebalance_agent.gateway.connection_relay import ConnectionRelay
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.groups.group_interceptor import GroupInterceptor
from rebalance_agent.gateway.rate_limited_log import RateLimitedLog
from rebalance_agent.gateway.share_groups.share_frames import ShareFrames
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from rebalance_agent.gateway.telemetry.telemetry_frames import TelemetryFrames
from rebalance_agent.gateway.transport.addresses import Address
from rebalance_agent.gateway.transport.broker_connections import BrokerConnector
from rebalance_agent.gateway.transport.broker_listeners import AcceptLoop, BrokerListener, BrokerListeners
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.free_ports import listening_socket
from rebalance_agent.gateway.transport.sharing.broker_places import BrokerPlace
from rebalance_agent.gateway.transport.sharing.fair_turns import AddressTurns, FairTurns
from rebalance_agent.gateway.transport.sharing.frame_memory import FrameMemoryBudget
from rebalance_agent.gateway.transport.splice import Pipes
from rebalance_agent.gateway.transport.tcp_connections import (
    COPY_BYTES,
    PeerConnection,
    PlainConnection,
    TlsConnection,
    tuned,
)
from rebalance_agent.health import Health

__all__ = ["CONNECTIONS_MAX", "Gateway", "ListenAddresses"]

CONNECTIONS_MAX = 1_000
"""Maximum number of simultaneous client connections: a pod has a few dozen. Each connection takes two file
descriptors."""

ADDRESS_CONNECTIONS_MAX = CONNECTIONS_MAX // 2
"""Maximum number of connections from one address, so that the clients of one machine cannot use up all connections."""

HANDSHAKE_SECONDS_MAX = 10.0
"""Longest duration of a client's TLS handshake, in seconds."""

SWEEP_SECONDS = 30.0
"""Seconds between checks for removed brokers."""

QUIET_SECONDS = 1.0
"""Seconds without a connection after which the application counts as ended: clients reconnect sooner."""

BOOTSTRAP = "bootstrap"
"""Readiness part: the last new client on the bootstrap port reached one of the bootstrap servers."""

BROKERS = "brokers"
"""Readiness part: every known broker can be reached through a port of its own."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ListenAddresses:
    """The addresses on which the gateway listens, and the addresses to which it connects.

    ``advertised``: the gateway's host in responses to clients. ``port_base``: the port for a broker is this number plus
    the broker's node id; 0: any free port. ``to_brokers``: TLS context; None for plaintext. ``from_clients``: function
    that returns the TLS context for a client; None for plaintext.
    """

    bootstrap: tuple[Address, ...]
    listen: Address
    advertised: str
    port_base: int
    to_brokers: ssl.SSLContext | None = None
    from_clients: Callable[[], ssl.SSLContext] | None = None


class Gateway:
    """The gateway's server, which runs in one event loop."""

    def __init__(
        self,
        addresses: ListenAddresses,
        groups: Callable[[], GroupInterceptor],
        counts: GatewayCounters,
        health: Health,
        clock: Clock,
        telemetry: TelemetryClients | None = None,
    ) -> None:
        """``groups`` creates a connection's group interceptor. ``telemetry``: None to ask no client for telemetry."""
        self._health, self._failing = health, set[str]()
        self._addresses, self._groups, self._counts, self._clock = addresses, groups, counts, clock
        self._listeners = BrokerListeners(
            addresses.listen[0], addresses.port_base, addresses.advertised, self._accepted, self._on_ports, clock
        )
        self._bootstrap, self._telemetry = list(addresses.bootstrap), telemetry or TelemetryClients(clock)
        self._pipes, self._memory, self._turns = Pipes(), FrameMemoryBudget(), FairTurns(clock)
        self._connector, self._warnings = BrokerConnector(addresses.to_brokers), RateLimitedLog(_log, clock)
        self._accept_loop: AcceptLoop | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._of_hosts: Counter[str] = Counter()

    @property
    def port(self) -> int:
        """The bootstrap port; 0 before `start` was called."""
        return self._accept_loop.port if self._accept_loop else 0

    @property
    def ports(self) -> Mapping[int, int]:
        """Node id -> port, for each broker that has a port."""
        return self._listeners.ports()

    async def start(self) -> None:
        """Listen on the bootstrap address.

        Raises:
            ListenError: the gateway cannot listen on the bootstrap address.
        """
        host, port = self._addresses.listen
        try:
            self._listeners.start()
            self._accept_loop = AcceptLoop(listening_socket(host, port), self._accepted, self._warnings)
        except OSError as error:
            self._listeners.close()
            raise ListenError(f"{host}:{port}", error.strerror or error) from None

    async def open_ports(self, brokers: Mapping[int, Address]) -> None:
        """Open the ports of these brokers before any client has asked for them."""
        await self._listeners.local(brokers)

    async def run(self, stop: asyncio.Event, drain_seconds: float) -> None:
        """Serve until ``stop``; then wait up to ``drain_seconds`` until all clients have disconnected, and close."""
        stopped = asyncio.create_task(stop.wait())
        while not stopped.done():
            await asyncio.wait((stopped,), timeout=SWEEP_SECONDS)
            self._listeners.sweep()
        # Clients that shut down still send their last commits and LeaveGroup, some on new connections.
        if drain_seconds and self._connections:
            message = "waiting up to %g s for clients to disconnect (open connections: %s); Ctrl-C again stops now"
            _log.info(message, drain_seconds, len(self._connections))
        await self._drained(self._clock.monotonic() + drain_seconds)
        await self.close()

    async def close(self) -> None:
        """Stop listening, and close all connections."""
        if self._accept_loop:
            self._accept_loop.close()
        self._listeners.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        self._pipes.close()

    async def _drained(self, until: float) -> None:
        quiet_since: float | None = None
        while (now := self._clock.monotonic()) < until:
            quiet_since = None if self._connections else now if quiet_since is None else quiet_since
            if quiet_since is not None and now - quiet_since >= QUIET_SECONDS:
                return
            await asyncio.sleep(min(QUIET_SECONDS / 5, until - now))
        if self._connections:
            _log.warning("connections still open after the wait: %s", len(self._connections))

    def _accepted(self, sock: socket.socket, listener: BrokerListener | None = None) -> None:
        peer = _peer(sock)
        host = peer[0] if peer else ""
        full = f"{CONNECTIONS_MAX} connections are open (maximum)" if len(self._connections) >= CONNECTIONS_MAX else ""
        if self._of_hosts[host] >= ADDRESS_CONNECTIONS_MAX:
            full = f"{ADDRESS_CONNECTIONS_MAX} connections from its address are open (maximum)"
        if full:
            sock.close()
            self._refused(RefusedError(CloseReason.ROOM, full), "a new client")
            return
        self._of_hosts[host] += 1
        turns = self._turns.of(host)
        serve = partial(self._serve, sock, _name(peer), listener, turns)
        task = asyncio.get_running_loop().create_task(turns.run(serve))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        task.add_done_callback(lambda _: self._left(host))
        task.add_done_callback(lambda _: sock.close())  # not inside the task, which may be cancelled before it begins

    def _left(self, host: str) -> None:
        self._of_hosts[host] -= 1
        if not self._of_hosts[host]:
            del self._of_hosts[host]

    async def _serve(
        self, sock: socket.socket, peer: str, listener: BrokerListener | None, turns: AddressTurns
    ) -> None:
        self._counts.opened()
        if listener:
            listener.connections += 1
        try:
            await self._relay(sock, peer, listener, turns)
        except RefusedError as error:
            self._refused(error, peer)
        except ConnectionError as error:
            _log.debug("connection of %s was lost: %s", peer, error)
        except Exception:  # noqa: BLE001 - logged with its traceback
            # A bug in the gateway that this client triggers must not end the other connections.
            self._counts.refused(CloseReason.FAILED)
            _log.exception("connection of %s failed", peer)
        finally:
            if listener:
                listener.connections -= 1
            self._counts.closed()

    async def _relay(
        self, sock: socket.socket, peer: str, listener: BrokerListener | None, turns: AddressTurns
    ) -> None:
        client = await self._client(sock, peer)
        try:
            broker, place = await self._broker(listener, turns.address)
        except BaseException:
            client.abort()
            raise
        groups = self._groups()
        telemetry = TelemetryFrames(self._telemetry, self._counts.pushed, groups.pushed)
        interceptor = ConnectionInterceptor(self._listeners, groups, telemetry, ShareFrames(self._counts.shares))
        await ConnectionRelay(
            client, broker, place, interceptor, turns, self._pipes, self._memory, self._counts, self._clock
        ).run()

    async def _client(self, sock: socket.socket, peer: str) -> PeerConnection:
        tuned(sock)
        if self._addresses.from_clients is None:
            return PlainConnection(sock, peer)
        reader = asyncio.StreamReader(limit=COPY_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                sock,
                ssl=self._addresses.from_clients(),
                ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX,
            )
        except (OSError, ssl.SSLError) as error:
            raise RefusedError(CloseReason.TLS, f"no TLS handshake: {error}") from None
        return TlsConnection(reader, asyncio.StreamWriter(transport, protocol, reader, loop), peer)

    async def _broker(self, listener: BrokerListener | None, host: str) -> tuple[PeerConnection, BrokerPlace]:
        if listener:
            return await self._connector.connect(listener.address, host)
        servers = tuple(self._bootstrap)  # a copy, since other connections rotate the list
        for number, address in enumerate(servers):
            try:
                connected = await self._connector.connect(address, host)
            except RefusedError as error:
                if number == len(servers) - 1:
                    self._report(BOOTSTRAP, str(error))
                    raise
                continue
            self._report(BOOTSTRAP)
            # The next client begins with the server that accepted this one.
            self._bootstrap[:] = servers[number:] + servers[:number]
            return connected
        raise RefusedError(CloseReason.UNREACHABLE, "no bootstrap servers are set")

    def _report(self, part: str, problem: str = "") -> None:
        """Report that a part has a ``problem``, or that it works again."""
        if problem:
            self._failing.add(part)
            self._health.unready(part, problem)
        elif part in self._failing:
            self._failing.remove(part)
            self._health.ready(part)

    def _on_ports(self, number: int, problems: Mapping[int, str]) -> None:
        self._counts.brokers(number, len(problems))
        node, problem = next(iter(problems.items()), (0, ""))
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        self._report(BROKERS, problem and f"broker {node}: {problem}{more}")

    def _refused(self, error: RefusedError, peer: str) -> None:
        self._counts.refused(error.refusal)
        self._warnings.warn(error.refusal, "closed the connection of %s (%s): %s", peer, error.refusal, error)


def _peer(sock: socket.socket) -> tuple[str, int] | None:
    """Return the client's address; None if it has disconnected."""
    try:
        host, port, *_ = sock.getpeername()
    except (OSError, ValueError):
        return None
    return host, port


def _name(peer: tuple[str, int] | None) -> str:
    return f"{peer[0]}:{peer[1]}" if peer else "a client that disconnected"
