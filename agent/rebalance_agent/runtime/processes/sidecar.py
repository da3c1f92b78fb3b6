"""``rebalance-agent sidecar``: accepts events of a pod's consumers, exports them as metrics, and publishes them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import structlog

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.dialects import Page
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.metric import ExporterRole
from rebalance_agent.model.events import Event
from rebalance_agent.model.reported.workload import WHERE_MAX, Workload
from rebalance_agent.runtime.listeners.configured_listeners import events_server, page_url, web_server
from rebalance_agent.runtime.otlp.configured_push import configured_push
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.processes.reported_readiness import note_reports
from rebalance_agent.runtime.processes.rights_watch import watch_rights
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.settings.text_types import SERVERS
from rebalance_agent.runtime.sinks.configured_sinks import SinkSet
from rebalance_agent.runtime.sinks.pending_events import PendingEvents
from rebalance_agent.runtime.watch.reachability import CLUSTER, identify_cluster, watch_cluster
from rebalance_agent.ui.page.site import Site

__all__ = ["Sidecar", "workload"]

_NO_CONSUMER = ("no consumer has reported an assignment yet", "no consumer has joined a group through this gateway yet")
"""The reasons why the consumers of a sidecar and of a gateway are not ready at first."""

NAMELESS_S = 5.0
"""Seconds that file and webhook wait for the cluster's id, to have it in all events: most clusters answer at once."""


def workload(environment: Mapping[str, str] = os.environ) -> Workload:
    """Return the pod's name, node, workload and image; a field is None if its variable is unset or empty.

    The variables are ``POD_NAME``, ``NODE_NAME``, ``WORKLOAD`` and ``IMAGE``.
    """

    def text(name: str) -> str | None:
        return environment.get(name, "")[:WHERE_MAX] or None

    return Workload(text("POD_NAME"), text("NODE_NAME"), text("WORKLOAD"), text("IMAGE"))


class Sidecar:
    """One sidecar. Without ``bootstrap.servers``, it can publish only to a file, a webhook or a collector.

    ``consumers``: the readiness of the sidecar's consumers.
    """

    def __init__(
        self,
        settings: SidecarSettings,
        properties: Mapping[str, str],
        *,
        where: Workload | None = None,
        clock: Clock | None = None,
        role: ExporterRole = ExporterRole.SIDECAR,
        pages: Sequence[Page] = (),
    ) -> None:
        """``properties`` are librdkafka's, complete. A gateway (``role``) adds its own ``pages`` to /metrics.

        Raises:
            InvalidInputError: a file or URL cannot be used, or a setting is missing that is required if other machines
            may post events; names the setting.
        """
        self._settings = settings
        self._properties = properties
        self._log = structlog.get_logger("rebalance_agent.sidecar")
        clock = clock or SystemClock()
        text, readiness = TextFormat(settings.cluster_name), Readiness()
        self._members = MemberMetrics(clock, text=text)
        self._metrics = AgentMetrics(
            role,
            readiness,
            configured=False,
            folded=lambda: self._members.folded,
            shortened=lambda: self._members.shortened,
            text=text,
        )
        self._sinks = SinkSet(settings, self._metrics, clock)
        publishes = bool(settings.events_topic) or self._sinks.local
        self._configured = SERVERS in properties and publishes
        self._metrics.configured(self._configured)
        self._health = LoggedHealth(readiness, self._metrics.reconnected, role)
        if self._configured:
            self._health.starting((CLUSTER,))
        where = where or workload()
        self._kafka = PendingEvents(where, self._dropped) if self._configured and settings.events_topic else None
        self._local = PendingEvents(where, self._dropped)
        pages = (self._members.text, *pages, self._metrics.text)
        self._push = configured_push(pages, self._metrics, clock)
        site = Site(readiness, consumers=self._members.consumers)
        self.consumers = LatchedReadiness(clock, _NO_CONSUMER[role is ExporterRole.GATEWAY])
        self._web = web_server(settings, pages, readiness, site, self._metrics, clock, consumers=self.consumers)
        self._events = events_server(settings, self.accept, self._metrics, clock, self._posted_alive)

    @property
    def health(self) -> LoggedHealth:
        """The process's readiness, which /readyz returns."""
        return self._health

    @property
    def port(self) -> int:
        """The port of /metrics, known once `run` listens."""
        return self._web.port

    @property
    def events_port(self) -> int:
        """The port for posted events, known once `run` listens."""
        return self._events.port

    def alive(self, process: str) -> None:
        """Record the heartbeat of a consumer's process."""
        self._members.alive(process)

    def accept(self, events: Sequence[Event], dropped: int) -> None:
        """Process posted events, and the number of events that the sender has dropped. Does not block."""
        for event in events:
            self._metrics.events_received(event.KIND)
        if dropped:
            self._metrics.events_dropped("member", dropped)
        self._members.observe(events)
        if not self.consumers.latched:
            note_reports(self.consumers, events)
        self._local.put(events)
        if self._kafka:
            self._kafka.put(events)

    def run(self, stop: threading.Event, listening: Callable[[], None] = lambda: None) -> None:
        """Serve until ``stop`` is set, then send waiting events and end within a bounded time.

        ``listening`` is called when the sidecar listens on both addresses.

        Raises:
            ListenError: an address cannot be listened on.
        """
        with ExitStack() as stack:
            # The events' listener starts first: clients may post as soon as the sidecar is ready.
            self._events.start()
            stack.callback(self._events.stop)
            self._web.start()
            stack.callback(self._web.stop)
            self._push.start()
            stack.callback(self._push.stop)
            page = page_url(self._settings, self.port)
            self._log.info("listening", page=page, port=self.port, events_port=self.events_port)
            listening()
            with ExitStack() as publishing:
                if not (self._kafka or self._sinks.local):
                    self._log.warning("not_publishing", reason="no bootstrap.servers or no events_topic configured")
                self._publish(stop, publishing)
                stop.wait()
                self._log.info("stopping")

    def _posted_alive(self, process: str, events: int) -> None:
        """Record a post of a consumer's process.

        Its events show whether the consumer is ready. A process sends posts without events only after its first events.
        """
        self._members.alive(process)
        if not events:
            self.consumers.works(process)

    def _publish(self, stop: threading.Event, stack: ExitStack) -> None:
        """Publish events until ``stop`` is set; ``stack`` stops first the posts, then the sinks."""
        local = self._sinks.open(stack)
        if self._kafka:
            stack.callback(self._kafka.close)

        def nameless() -> None:
            self._local.connect("", local.publish)

        stack.callback(nameless)
        # Posts end before the sinks, so that every accepted event is sent.
        stack.callback(self._events.stop)
        if not self._configured:
            nameless()
            return
        cluster = Cluster(self._properties)
        with _after(NAMELESS_S, nameless):
            cluster_id = identify_cluster(cluster, self._health, stop)
        if not cluster_id and stop.is_set():
            return
        self._log.info("connected", cluster=cluster_id)
        self._local.connect(cluster_id, local.publish)
        if self._kafka:
            self._kafka.connect(cluster_id, self._sinks.connect(self._properties, cluster).publish)
        watch_rights(self._settings, self._properties, cluster.access, self._health, stack)
        watch_cluster(cluster, self._health, stop)

    def _dropped(self, number: int) -> None:
        self._metrics.events_dropped("agent", number)


@contextmanager
def _after(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call ``call`` in a separate thread after ``seconds``, unless the block has ended by then."""
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
