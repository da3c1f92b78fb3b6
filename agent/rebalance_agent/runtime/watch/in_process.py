"""Watches one cluster inside a command: gives the same data as `observe`, but opens no ports and publishes nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Self

from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.shapes import GroupDetail, GroupList, RebalanceDetail, RebalanceList
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.errors import ClusterError
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.metric import ExporterRole
from rebalance_agent.runtime.scheduling.schedule import Schedule
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.watch.cluster_watch import ClusterWatch, watch_context, watch_parts
from rebalance_agent.runtime.watch.reachability import CLUSTER, identify_cluster
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag
from rebalance_agent.tracking.views import GroupView

__all__ = ["InProcessWatch"]

JOIN_S = 10.0
"""Longest wait for the watch to stop, in seconds: each part of the watch has a shorter bound."""

REACH_S = 8.0
"""Longest wait for the cluster's first answer, in seconds: two requests up to their timeouts, and a pause."""

QUIET_S = 0.5
"""Seconds without work after which everything read counts as processed: a batch takes some milliseconds."""

LOOK_S = 0.05
"""Seconds between checks of `settled`."""


class InProcessWatch:
    """A `GroupSource` that watches the cluster itself, within a ``with`` block."""

    def __init__(self, settings: ObserverSettings, properties: Mapping[str, str], clock: Clock | None = None) -> None:
        """``properties`` are the complete properties of librdkafka."""
        # This is not a replica: it takes no groups from observers that share them, and writes nothing.
        self.settings = settings = settings.model_copy(update={"replicas_group": "", "read_only": True})
        self._properties = properties
        self._clock = clock or SystemClock()
        self._readiness = Readiness((CLUSTER, *watch_parts(settings)))
        self._history = EpisodeHistory()
        self._api = GroupsApi(self._views, self._history, self._clock, self._lags)
        self._inbox = Inbox()
        self._watch: ClusterWatch | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="direct", daemon=True)

    def __enter__(self) -> Self:
        """Start watching, in the background."""
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop."""
        self._stop.set()
        self._thread.join(JOIN_S)

    def settled(self, timeout: float) -> bool:
        """Wait until all records of the cluster are read and processed; return whether that happened in time.

        The wait is at most ``timeout`` seconds, and at most `REACH_S` if the cluster does not answer at all.
        """
        began = quiet_since = self._clock.monotonic()
        while (now := self._clock.monotonic()) - began < (timeout if self._watch else min(timeout, REACH_S)):
            if not (self._readiness.is_ready and all(view.judged for view in self._views())) or len(self._inbox):
                quiet_since = now
            elif now - quiet_since >= QUIET_S:
                return True
            self._stop.wait(LOOK_S)
        return False

    def missing(self) -> str:
        """Return the parts that are not ready yet or are denied, with reasons; empty when everything is known."""
        denied = self._watch.denied() if self._watch else {}
        reasons = {**self._readiness.reasons(), **denied}
        return "; ".join(f"{part}: {reason}" for part, reason in reasons.items() if reason)

    def groups(self, query: GroupQuery | None = None) -> GroupList:
        """Return the groups that ``query`` selects.

        Raises:
            ClusterError: no broker has answered yet.
        """
        return self._answering().groups(query)

    def group(self, name: str) -> GroupDetail:
        """Return one group."""
        return self._answering().group(name)

    def rebalances(self, name: str) -> RebalanceList:
        """Return a group's rebalances since this process began to watch, newest first."""
        return self._answering().rebalances(name)

    def rebalance(self, name: str, identity: str) -> RebalanceDetail:
        """Return one rebalance with its events."""
        return self._answering().rebalance(name, identity)

    def _answering(self) -> GroupsApi:
        if self._watch is None:
            raise ClusterError(f"the cluster: {self._readiness.reasons()[CLUSTER] or 'connecting'}")
        return self._api

    def _views(self) -> tuple[GroupView, ...]:
        return self._watch.views() if self._watch else ()

    def _lags(self) -> Mapping[str, GroupLag]:
        return self._watch.lags() if self._watch else NO_LAGS

    def _run(self) -> None:
        meters = AgentMetrics(ExporterRole.OBSERVER, self._readiness, configured=True)
        context = watch_context(self._properties, self.settings, self._inbox, self._readiness, meters, self._clock)
        cluster_id = identify_cluster(context.cluster, self._readiness, self._stop)
        if self._stop.is_set():
            return
        schedule = Schedule(self._clock)
        watch = ClusterWatch(context, self.settings, cluster_id, schedule, history=self._history)
        with ExitStack() as stack:
            watch.start(stack)
            self._watch = watch
            self._stop.wait()
