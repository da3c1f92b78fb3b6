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
from rebalance_agent.exposition.member_metrics import MemberMetrics
from rebalance_agent.exposition.server import HttpServer
from rebalance_agent.exposition.text import TextFormat
from rebalance_agent.exposition.web import WebApp
from rebalance_agent.metrics.metric import Role
from rebalance_agent.model.events import Event, Workload
from rebalance_agent.runtime.health import LoggedHealth
from rebalance_agent.runtime.process import CLUSTER, identify_cluster, watch_cluster
from rebalance_agent.runtime.publisher import Publisher, create_events_topic
from rebalance_agent.runtime.relay import Relay
from rebalance_agent.runtime.settings import SidecarSettings, split_address

__all__ = ["WHERE_MAX", "Sidecar", "workload"]

WHERE_MAX = 1_024
"""Characters of one downward-API value; names of Kubernetes objects have at most 253, images may carry a digest."""


def workload(environment: Mapping[str, str] = os.environ) -> Workload:
    """Where this pod runs, from ``POD_NAME``, ``NODE_NAME``, ``WORKLOAD`` and ``IMAGE``; unset or empty is None."""

    def text(name: str) -> str | None:
        return environment.get(name, "")[:WHERE_MAX] or None

    return Workload(text("POD_NAME"), text("NODE_NAME"), text("WORKLOAD"), text("IMAGE"))


class Sidecar:
    """One sidecar; without ``bootstrap.servers`` it exports and publishes nothing."""

    def __init__(
        self,
        settings: SidecarSettings,
        properties: Mapping[str, str],
        *,
        token: str | None = None,
        where: Workload | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``token``: what posts must carry.

        Raises:
            InvalidInputError: it would listen beyond loopback without a token.
        """
        self._settings = settings
        self._properties = properties
        self._configured = "bootstrap.servers" in properties and bool(settings.events_topic)
        self._log = structlog.get_logger("rebalance_agent.sidecar")
        clock = clock or SystemClock()
        text, readiness = TextFormat(settings.cluster_name), Readiness()
        self._members = MemberMetrics(clock, text=text)
        self._metrics = AgentMetrics(
            Role.SIDECAR, readiness, configured=self._configured, folded=lambda: self._members.folded, text=text
        )
        self._health = LoggedHealth(readiness, self._metrics.reconnected)
        self._relay = Relay(where or workload(), self._dropped) if self._configured else None
        host, port = split_address(settings.listen)
        self._web = HttpServer(host, port, WebApp((self._members.text, self._metrics.text), readiness))
        host, port = split_address(settings.events_listen)
        try:
            endpoint = EventsSettings(host, port, token)
        except InvalidInputError as error:
            raise InvalidInputError("events_token_file", error.problem) from None
        self._events = HttpServer(
            host,
            port,
            EventsApp(self.accept, clock, endpoint, self._metrics.request_rejected),
            body_bytes_max=endpoint.body_bytes_max,
        )

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
                cluster = None
                if self._relay:
                    cluster = Cluster(self._properties)
                    self._publish(cluster, self._relay, stop, publishing)
                else:
                    self._log.warning("not_publishing", reason="no bootstrap.servers or no events_topic configured")
                # Posts end before the publisher does: what was accepted is sent.
                publishing.callback(self._events.stop)
                if cluster:
                    watch_cluster(cluster, self._health, stop)
                stop.wait()
                self._log.info("stopping")

    def _publish(self, cluster: Cluster, relay: Relay, stop: threading.Event, stack: ExitStack) -> None:
        cluster_id = identify_cluster(cluster, self._health, stop)
        if stop.is_set():
            return
        create_events_topic(cluster, self._settings.events_topic)
        publisher = Publisher(
            self._properties,
            self._settings.events_topic,
            published=self._metrics.events_published,
            dropped=self._dropped,
        )
        publisher.start()
        stack.callback(publisher.close, self._settings.stop_seconds)
        relay.connect(cluster_id, publisher.publish)
        self._log.info("connected", cluster=cluster_id)

    def _dropped(self, number: int) -> None:
        self._metrics.events_dropped("agent", number)
