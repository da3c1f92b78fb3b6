"""``rebalance-agent gateway``: a sidecar that also forwards its consumers' connections to the brokers."""

from __future__ import annotations

import asyncio
import resource
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import structlog

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.gateway_server import CONNECTIONS_MAX, Gateway
from rebalance_agent.gateway.groups import GroupInterceptors, parse_rules
from rebalance_agent.gateway.seat_rules import Between, SeatRules, parse_seat_rules
from rebalance_agent.gateway.seating import SeatingGroups
from rebalance_agent.gateway.seating.leases.api_server import ApiServer
from rebalance_agent.gateway.seating.seats_file import SeatsFile
from rebalance_agent.gateway.share_groups.delivery_reports import DeliveryReports
from rebalance_agent.gateway.telemetry.client_subscription import metric_prefixes
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from rebalance_agent.gateway.transport.addresses import NODES_MAX
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.metric import ExporterRole
from rebalance_agent.model.events import Event
from rebalance_agent.runtime.listeners.listen_addresses import listen_addresses
from rebalance_agent.runtime.otlp.configured_push import configured_passing
from rebalance_agent.runtime.processes.memory import return_grown_blocks
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings

__all__ = ["GATEWAY", "GatewayRole"]

GATEWAY = "gateway"
"""The readiness part for clients' connections."""

STOP_CHECK_SECONDS = 0.2
"""Seconds between checks of the stop signal, which a thread other than the event loop's sets."""

DESCRIPTORS_MAX = 2 * CONNECTIONS_MAX + NODES_MAX + 500
"""Number of file descriptors: two per connection, one per broker's port, some for pipes, posts and scrapes."""


class GatewayRole:
    """One gateway with its sidecar. A separate thread with its own event loop handles the connections."""

    def __init__(self, settings: GatewaySettings, properties: Mapping[str, str], *, clock: Clock | None = None) -> None:
        """``properties`` are the complete properties of librdkafka.

        Raises:
            InvalidInputError: a setting is invalid, or its file cannot be used; names the setting.
        """
        self._settings, self._properties = settings, properties
        self._clock = clock or SystemClock()
        self._log = structlog.get_logger("rebalance_agent.gateway")
        self._addresses = listen_addresses(settings, properties, self._clock)
        text = TextFormat(settings.cluster_name)
        self._counts = GatewayCounters(text)
        self._api_server: ApiServer | None = None
        interval = settings.gateway_telemetry_seconds if settings.gateway_telemetry else 0.0
        self._passed = None
        if settings.gateway_telemetry_pass:
            self._passed = configured_passing(self._counts.passed, pushed=settings.gateway_telemetry)
        self._telemetry = TelemetryClients(
            self._clock,
            interval,
            self._counts.push_ended,
            text,
            more=metric_prefixes(settings.gateway_telemetry_metrics),
            passes=self._passed.put if self._passed else None,
        )
        pages = (self._telemetry.text, self._counts.text)
        self._sidecar = Sidecar(settings, properties, clock=clock, role=ExporterRole.GATEWAY, pages=pages)
        self._gateway: Gateway | None = None
        self._connections: tuple[asyncio.AbstractEventLoop, asyncio.Task[object]] | None = None

    @property
    def gateway_port(self) -> int:
        """The port of clients' bootstrap connections, known once `run` listens."""
        return self._gateway.port if self._gateway else 0

    @property
    def port(self) -> int:
        """The port of /metrics, known once `run` listens."""
        return self._sidecar.port

    @property
    def events_port(self) -> int:
        """The port for posted events, known once `run` listens."""
        return self._sidecar.events_port

    def run(self, stop: threading.Event) -> None:
        """Serve until ``stop`` is set, then for a bounded time until the clients have disconnected.

        Raises:
            ListenError: an address cannot be listened on.
            KeyboardInterrupt: on a second Ctrl-C, after the clients' connections have been closed.
        """
        return_grown_blocks()
        self._sidecar.health.starting((GATEWAY,))
        if self._passed:
            self._passed.start()
        ended, listening = threading.Event(), threading.Event()
        with ThreadPoolExecutor(1, "gateway") as threads:
            serving = threads.submit(asyncio.run, self._serve(stop, listening))
            serving.add_done_callback(lambda _serving: ended.set())
            serving.add_done_callback(lambda _serving: listening.set())
            try:
                listening.wait()
                if not ended.is_set():
                    self._sidecar.run(ended, self._log_listening)
            except KeyboardInterrupt:
                self._end_now()
                raise
            finally:
                stop.set()
        if self._passed:
            self._passed.stop()
        serving.result()

    def _log_listening(self) -> None:
        """Log the gateway's port, after the sidecar's ports are open, too: an address in use ends the process."""
        self._log.info("gateway_listening", port=self.gateway_port, port_base=self._addresses.port_base)

    def _end_now(self) -> None:
        """End the drain, because `run` returns only when the connections' thread has ended."""
        if self._connections is None:
            return
        loop, task = self._connections
        with suppress(RuntimeError):  # the loop's thread has ended meanwhile
            loop.call_soon_threadsafe(task.cancel)

    async def _serve(self, stop: threading.Event, listening: threading.Event) -> None:
        _allow_descriptors()
        if task := asyncio.current_task():
            self._connections = asyncio.get_running_loop(), task
        seats = self._seating_groups()
        groups = GroupInterceptors(
            parse_rules(self._settings.gateway_groups),
            self._emit,
            self._clock,
            alive=self._sidecar.alive,
            count=self._counts.outcome,
            assign_seconds=self._settings.gateway_assign_seconds,
            rack=self._settings.gateway_rack,
            seats=seats,
            readiness=self._sidecar.consumers,
            generations=self._settings.gateway_generations,
        )
        saving = self._restored(seats) if seats else None
        deliveries = DeliveryReports(self._counts.shares, self._clock, self._emit)
        gateway = Gateway(
            self._addresses, groups.for_connection, self._counts, self._sidecar.health, self._clock, self._telemetry
        )
        await gateway.start()
        self._gateway = gateway
        listening.set()
        finding_brokers = asyncio.create_task(self._find_brokers(gateway))
        stopped = asyncio.Event()
        watching = asyncio.create_task(_watch(stop, stopped, seats))
        seating = asyncio.create_task(seats.run()) if seats else None
        ended = asyncio.Event()
        saved = asyncio.create_task(saving.run(ended)) if saving else None
        delivering = asyncio.create_task(deliveries.run())
        try:
            await gateway.run(stopped, self._settings.gateway_drain_seconds)
        finally:
            finding_brokers.cancel()
            watching.cancel()
            delivering.cancel()
            if seating:
                seating.cancel()
            ended.set()
            if saved:
                await saved
            await gateway.close()
            groups.close()
            deliveries.publish(last=True)
            if self._api_server is not None:
                self._api_server.close()

    def _seating_groups(self) -> SeatingGroups | None:
        """Return the groups with seats; None if there is no rule for seats."""
        rules = parse_seat_rules(self._settings.gateway_seats)
        if not list(rules):
            return None
        self._api_server = self._leases(rules)
        return SeatingGroups(
            rules,
            self._clock,
            self._counts,
            admission_seconds=self._settings.gateway_admission_seconds,
            switch_file=self._settings.gateway_seats_switch_file,
            emit=self._emit,
            leases=self._api_server,
            saves=bool(self._settings.gateway_seats_file),
        )

    def _leases(self, rules: SeatRules) -> ApiServer | None:
        """Return the API server that has the seats' locks; None if no rule needs locks, or outside Kubernetes."""
        if not any(rule.between is Between.LEASE for rule in rules):
            return None
        try:
            return ApiServer.of_pod()
        except InvalidInputError as error:
            text = "consumers can only take seats of consumers behind the same gateway"
            self._log.error("seats_claim", outcome="failed", problem=error.problem, help=text)
            return None

    def _restored(self, seats: SeatingGroups) -> SeatsFile | None:
        """Restore ``seats`` from their file; return the file, or None if no file is configured."""
        path = self._settings.gateway_seats_file
        if not path:
            return None
        file = SeatsFile(path, seats, self._clock)
        file.restore()
        return file

    async def _find_brokers(self, gateway: Gateway) -> None:
        """Open all brokers' ports early: after a restart, clients reconnect to these ports without bootstrapping.

        The gateway is ready when these ports are open, or when the first attempt to find the brokers has failed.
        """
        cluster, backoff = Cluster(self._properties), Backoff(max_s=60.0)
        while True:
            try:
                brokers = await asyncio.to_thread(cluster.brokers)
            except ClusterError as error:
                # If only the clients can log in, the brokers become known from the clients' metadata requests.
                self._log.info("brokers_unknown", reason=str(error), help="unknown until a client's first request")
                self._sidecar.health.ready(GATEWAY)
                await asyncio.sleep(backoff.next())
                continue
            await gateway.open_ports(brokers)
            self._sidecar.health.ready(GATEWAY)
            return

    def _emit(self, event: Event, left_out: int = 0) -> None:
        self._sidecar.accept((event,), left_out)


async def _watch(stop: threading.Event, stopped: asyncio.Event, seats: SeatingGroups | None) -> None:
    """Set ``stopped`` once ``stop`` is set and vacant seats have been given up, so that no gateway keeps them."""
    while not stop.is_set():  # noqa: ASYNC110 - a signal handler sets it in another thread
        await asyncio.sleep(STOP_CHECK_SECONDS)
    try:
        if seats:
            await seats.switch_off()
    finally:
        stopped.set()  # an error of the seats must not keep the gateway from stopping


def _allow_descriptors() -> None:
    """Raise the limit of open files to `DESCRIPTORS_MAX`, if allowed: shells set 1,024 by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(DESCRIPTORS_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
