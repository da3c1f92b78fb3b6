"""``rebalance-agent observe``: watches one cluster, serves its metrics, pages and API, and publishes its events."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import structlog

from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.baselines_page import BaselinesPage
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.export.lag_page import LagPage
from rebalance_agent.metrics.export.phase_metrics import PhaseMetrics
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.metrics.metric import ExporterRole
from rebalance_agent.model.baseline import AdviceSavings
from rebalance_agent.model.events import Event
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.polls.baseline_reader import BASELINES_EVERY_S, Baselines, BaselinesReader
from rebalance_agent.runtime.listeners.configured_listeners import events_server, page_url, web_server
from rebalance_agent.runtime.otlp.configured_push import configured_push
from rebalance_agent.runtime.processes.logged_health import LoggedHealth
from rebalance_agent.runtime.processes.memory import (
    GIVE_BACK_EVERY_S,
    LOOK_AT_ALL_EVERY_S,
    give_back,
    lock_passed_on_soon,
    look_at_all,
    older_objects_kept,
)
from rebalance_agent.runtime.processes.rights_watch import RIGHTS_WATCH_S, rights_parts, rights_watch
from rebalance_agent.runtime.scheduling.schedule import Schedule
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.text_types import SERVERS
from rebalance_agent.runtime.sinks.configured_sinks import SinkSet
from rebalance_agent.runtime.sinks.pending_events import PendingEvents
from rebalance_agent.runtime.sinks.sinks import ClusterEvents
from rebalance_agent.runtime.watch.cluster_watch import ClusterWatch, watch_context, watch_parts
from rebalance_agent.runtime.watch.episode_log import EpisodeLog
from rebalance_agent.runtime.watch.reachability import CLUSTER, identify_cluster, watch_cluster
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag
from rebalance_agent.tracking.views import GroupView
from rebalance_agent.ui.page.site import GroupPages, Site

__all__ = ["Observer"]


class Observer:
    """One observer of one cluster. With ``idle`` and without ``bootstrap.servers``, it only runs its listeners."""

    def __init__(self, settings: ObserverSettings, properties: Mapping[str, str], clock: Clock | None = None) -> None:
        """``properties`` are the complete properties of librdkafka.

        Raises:
            InvalidInputError: a setting is missing, or its file or URL cannot be used; names the setting.
        """
        self._configured = SERVERS in properties
        if not (self._configured or settings.idle):
            missing = "is missing: add --bootstrap-servers HOST:PORT,..., or --idle to start without a cluster"
            raise InvalidInputError(f"kafka.{SERVERS}", missing)
        self._settings = settings
        self._properties = properties
        self._clock = clock or SystemClock()
        self._watch: ClusterWatch | None = None
        self._stopped = float("-inf")
        self._log = structlog.get_logger("rebalance_agent.observer")
        readiness = Readiness()
        text = TextFormat(settings.cluster_name)
        limits = SeriesLimits(
            max_member_series=settings.max_member_series,
            max_topic_series=settings.max_topic_series,
            top_topics=settings.top_topics,
            topic_shown=NameFilter(settings.topics_allow, settings.topics_deny),
            page_bytes_max=settings.max_metrics_bytes,
        )
        self._page = GroupsPage(self.views, self._clock, limits, text)
        self._lags = LagPage(self.lags, settings.max_lag_topics, limits.topic_shown, text)
        self._baselines = Baselines()
        normal = BaselinesPage(self._baselines, self.views, self._clock, text)
        self._phases = PhaseMetrics(text)
        self._history = EpisodeHistory()
        self._metrics = AgentMetrics(
            ExporterRole.OBSERVER,
            readiness,
            configured=self._configured,
            folded=lambda: self._page.folded + self._lags.folded,
            shortened=lambda: self._page.shortened,
            left_out=lambda: self._page.left_out,
            text=text,
        )
        self._health = LoggedHealth(readiness, self._metrics.reconnected)
        api = GroupsApi(self.views, self._history, self._clock, self.lags)
        pages = (self._page.pieces, self._lags.text, normal.text, self._phases.text, self._metrics.text)
        self._push = configured_push(pages, self._metrics, self._clock)
        hosts = HostNames.parse(settings.host_names)
        site = Site(readiness, groups=GroupPages(api, self._history, self._clock, hosts, self._savings))
        self._server = web_server(settings, pages, readiness, site, self._metrics, self._clock, api)
        self._sinks = SinkSet(settings, self._metrics, self._clock)
        self._posted = PendingEvents(Workload(), lambda number: self._metrics.events_dropped("agent", number))
        self._posts = (
            events_server(settings, self._accept, self._metrics, self._clock) if settings.events_listen else None
        )

    @property
    def port(self) -> int:
        """The port of /metrics, known once `run` listens."""
        return self._server.port

    @property
    def events_port(self) -> int:
        """The port for posted events, known once `run` listens; 0 if there is no such port."""
        return self._posts.port if self._posts else 0

    def views(self) -> tuple[GroupView, ...]:
        """Return the current view of every group; none before the cluster has answered. Any thread may call this."""
        return self._watch.views() if self._watch else ()

    def lags(self) -> Mapping[str, GroupLag]:
        """Return the lag, as last measured, of each group that ``lag_groups`` names. Any thread may call this."""
        return self._watch.lags() if self._watch else NO_LAGS

    def run(self, stop: threading.Event) -> None:
        """Observe until ``stop`` is set, then end within a bounded time.

        Raises:
            ListenError: the address cannot be listened on.
        """
        with ExitStack() as stack:
            if self._configured:
                self._health.starting((CLUSTER, *watch_parts(self._settings), *rights_parts(self._settings)))
            if self._posts:
                stack.callback(self._posted.close)
                self._posts.start()
                stack.callback(self._posts.stop)
            self._server.start()
            stack.callback(self._server.stop)
            self._push.start()
            stack.callback(self._push.stop)
            ports = {"port": self.port, **({"events_port": self.events_port} if self._posts else {})}
            self._log.info("listening", page=page_url(self._settings, self.port), **ports)
            if self._configured:
                self._observe(stop, stack)
            else:
                self._log.warning("idle", reason="no bootstrap.servers configured")
            stop.wait()
            self._stopped = self._clock.monotonic()
            self._log.info("stopping")

    def _observe(self, stop: threading.Event, stack: ExitStack) -> None:
        context = watch_context(self._properties, self._settings, Inbox(), self._health, self._metrics, self._clock)
        cluster = context.cluster
        cluster_id = identify_cluster(cluster, self._health, stop)
        if stop.is_set():
            return
        self._log.info("connected", cluster=cluster_id)
        stack.enter_context(older_objects_kept())
        stack.enter_context(lock_passed_on_soon())
        # This stack ends last: a snapshot covers only records whose events the sinks have delivered.
        last = stack.enter_context(ExitStack())
        published = ClusterEvents(cluster_id, (self._sinks.open(stack), self._sinks.connect(self._properties, cluster)))
        schedule = Schedule(self._clock)
        watch = ClusterWatch(
            context,
            self._settings,
            cluster_id,
            schedule,
            sinks=(EpisodeLog(self._clock), self._phases, published),
            history=self._history,
            refresh=self._refresh,
            progress=self._sinks.publisher,
        )
        watch.start(stack)
        last.callback(lambda: watch.close(self._left_s()))
        self._watch = watch
        schedule.every(GIVE_BACK_EVERY_S, give_back, "memory")
        schedule.every(LOOK_AT_ALL_EVERY_S, look_at_all, "garbage")
        rights = rights_watch(self._settings, self._properties, cluster.access, self._health, watch.denied)
        schedule.every(RIGHTS_WATCH_S, rights, "rights")
        if topic := self._settings.baselines_topic:
            reader = BaselinesReader(context, topic, cluster_id, self._baselines)
            schedule.every(BASELINES_EVERY_S, reader, "baselines")
        if self._posts:
            # Posted events go through the topic, which all replicas read, whichever replica received the post.
            publisher = self._sinks.publisher
            self._posted.connect(cluster_id, publisher.publish if publisher else self._report)
            stack.callback(self._posts.stop)
        watch_cluster(cluster, self._health, stop)

    def _refresh(self) -> bool:
        """Write texts of /metrics; return whether some are left to write."""
        self._lags.refresh()
        return self._page.refresh()

    def _accept(self, events: Sequence[Event], dropped: int) -> None:
        """Process posted events, and the number of events that the sender has dropped. Does not block."""
        if dropped:
            self._metrics.events_dropped("member", dropped)
        self._posted.put(events)

    def _report(self, event: Event, cluster_id: str) -> None:
        if self._watch and not self._watch.report(event, cluster_id):
            self._metrics.events_dropped("agent")

    def _savings(self, group: str) -> AdviceSavings | None:
        return self._baselines.savings(group, self._clock.now_ms())

    def _left_s(self) -> float:
        """Return the remaining seconds of the time that stopping may take."""
        return max(0.0, self._stopped + self._settings.stop_seconds - self._clock.monotonic())
