"""``rebalance-agent sidecar``: takes the events of the consumers beside it, exports them, and publishes them on."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import structlog

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.collectors.cluster import Cluster
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.exposition.agent_metrics import AgentMetrics
from rebalance_agent.exposition.events_endpoint import EventsApp
from rebalance_agent.exposition.events_settings import EventsSettings
from rebalance_agent.exposition.health import Readiness
from rebalance_agent.exposition.loopback import is_loopback
from rebalance_agent.exposition.member_metrics import MemberMetrics
from rebalance_agent.exposition.server import HttpServer
from rebalance_agent.exposition.text import TextFormat
from rebalance_agent.exposition.tls import ServerTls
from rebalance_agent.exposition.web import HEALTH_PATHS, WebApp
from rebalance_agent.metrics.metric import Role
from rebalance_agent.model.events import WHERE_MAX, Event, Workload
from rebalance_agent.runtime.health import LoggedHealth
from rebalance_agent.runtime.listening import bearer_of, events_tls, web_tls
from rebalance_agent.runtime.process import CLUSTER, identify_cluster, watch_cluster
from rebalance_agent.runtime.relay import Relay
from rebalance_agent.runtime.rights_watch import watch_rights
from rebalance_agent.runtime.settings import SidecarSettings, split_address
from rebalance_agent.runtime.shown import shown_settings
from rebalance_agent.runtime.sinks_set import SinkSet

__all__ = ["Sidecar", "events_endpoint", "workload"]


def workload(environment: Mapping[str, str] = os.environ) -> Workload:
    """Where this pod runs, from ``POD_NAME``, ``NODE_NAME``, ``WORKLOAD`` and ``IMAGE``; unset or empty is None."""

    def text(name: str) -> str | None:
        return environment.get(name, "")[:WHERE_MAX] or None

    return Workload(text("POD_NAME"), text("NODE_NAME"), text("WORKLOAD"), text("IMAGE"))


def events_endpoint(settings: SidecarSettings, clock: Clock) -> tuple[EventsSettings, ServerTls | None]:
    """Where events are posted to, who may, and the TLS around it; None without.

    Raises:
        InvalidInputError: naming the setting whose file cannot be used, or that is missing to let others than this
            machine post events.
    """
    host, port = split_address(settings.events_listen)
    bearer = bearer_of("events_token_file", settings.events_token_file, clock)
    tls = events_tls(settings, clock)
    try:
        return EventsSettings(host, port, bearer, mutual_tls=bool(tls and tls.mutual)), tls
    except InvalidInputError as error:
        raise InvalidInputError("events_token_file", error.problem) from None


class Sidecar:
    """One sidecar; without ``bootstrap.servers`` it publishes to a file or a webhook at most."""

    def __init__(
        self,
        settings: SidecarSettings,
        properties: Mapping[str, str],
        *,
        where: Workload | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``properties`` are librdkafka's, complete.

        Raises:
            InvalidInputError: naming the setting whose file or URL cannot be used, or that is missing to let others
                than this machine post events.
        """
        self._settings = settings
        self._properties = properties
        self._log = structlog.get_logger("rebalance_agent.sidecar")
        clock = clock or SystemClock()
        text, readiness = TextFormat(settings.cluster_name), Readiness()
        self._members = MemberMetrics(clock, text=text)
        self._metrics = AgentMetrics(
            Role.SIDECAR, readiness, configured=False, folded=lambda: self._members.folded, text=text
        )
        self._sinks = SinkSet(settings, self._metrics, clock)
        publishes = bool(settings.events_topic) or self._sinks.local
        self._configured = "bootstrap.servers" in properties and publishes
        self._metrics.configured(self._configured)
        self._health = LoggedHealth(readiness, self._metrics.reconnected)
        self._relay = Relay(where or workload(), self._dropped) if self._configured or self._sinks.local else None
        host, port = split_address(settings.listen)
        web = WebApp(
            (self._members.text, self._metrics.text),
            readiness,
            config=lambda: shown_settings(settings),
            bearer=bearer_of("web_token_file", settings.web_token_file, clock),
            health_open=not settings.web_token_for_health,
        )
        self._web = HttpServer(
            host,
            port,
            web,
            tls=web_tls(settings, clock),
            urgent=HEALTH_PATHS,
            counted=self._metrics.connection_cut,
        )
        self._events = self._listen_for_events(clock)

    @property
    def port(self) -> int:
        """Where /metrics is served, once `run` listens."""
        return self._web.port

    @property
    def events_port(self) -> int:
        """Where events are posted to, once `run` listens."""
        return self._events.port

    def accept(self, events: Sequence[Event], dropped: int) -> None:
        """Take in posted events, and how many their sender lost before. Does not block."""
        for event in events:
            self._metrics.events_received(event.KIND)
        if dropped:
            self._metrics.events_dropped("member", dropped)
        self._members.observe(events)
        if self._relay:
            self._relay.put(events)

    def run(self, stop: threading.Event) -> None:
        """Serve until ``stop`` is set, then send what waits and end within a bounded time.

        Raises:
            ListenError: an address cannot be listened on.
        """
        with ExitStack() as stack:
            if self._configured:
                self._health.starting((CLUSTER,))
            # The events' listener first: who is told that the sidecar is ready may post.
            self._events.start()
            stack.callback(self._events.stop)
            self._web.start()
            stack.callback(self._web.stop)
            self._log.info("listening", port=self.port, events_port=self.events_port)
            with ExitStack() as publishing:
                cluster = Cluster(self._properties) if self._configured else None
                if self._relay:
                    self._publish(cluster, self._relay, stop, publishing)
                else:
                    self._log.warning("not_publishing", reason="no bootstrap.servers or no events_topic configured")
                # Posts end before the publisher does: what was accepted is sent.
                publishing.callback(self._events.stop)
                if cluster:
                    watch_cluster(cluster, self._health, stop)
                stop.wait()
                self._log.info("stopping")

    def _listen_for_events(self, clock: Clock) -> HttpServer:
        endpoint, tls = events_endpoint(self._settings, clock)
        if endpoint.bearer and not tls and not is_loopback(endpoint.host):
            self._log.warning("token_unencrypted", listen=self._settings.events_listen, help="set events_tls_cert_file")
        return HttpServer(
            endpoint.host,
            endpoint.port,
            EventsApp(self.accept, clock, endpoint, self._metrics.request_rejected, self._members.alive),
            body_bytes_max=endpoint.body_bytes_max,
            tls=tls,
            counted=self._metrics.connection_cut,
        )

    def _publish(self, cluster: Cluster | None, relay: Relay, stop: threading.Event, stack: ExitStack) -> None:
        cluster_id = identify_cluster(cluster, self._health, stop) if cluster else ""
        reached = cluster if cluster_id or not stop.is_set() else None
        sinks = self._sinks.open(self._properties, reached, stack)
        # After the last post, and before the sinks end.
        stack.callback(relay.close, sinks.publish)
        if cluster and not reached and self._settings.events_topic:
            return  # the relay holds what Kafka will never get, until it is closed
        if reached:
            watch_rights(self._settings, self._properties, reached.access, self._health, stack)
            self._log.info("connected", cluster=cluster_id)
        relay.connect(cluster_id, sinks.publish)

    def _dropped(self, number: int) -> None:
        self._metrics.events_dropped("agent", number)
