"""The observer's parts for one cluster that answered: what feeds what, and in which order they begin and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.collector_context import POLL_NAMES, CollectorContext, Meters
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.health import Health
from rebalance_agent.model.events import AssignEvent, Event, MemberEvent
from rebalance_agent.offsets_topic.snapshots.snapshot_schedule import PublishProgress
from rebalance_agent.offsets_topic.tail import OFFSETS_PART, OffsetsTail
from rebalance_agent.polls.describe_groups import DescribePoll
from rebalance_agent.polls.lag_and_rates import LoadsPoll
from rebalance_agent.polls.list_groups import list_poll
from rebalance_agent.polls.member_events import MEMBERS_PART, MemberEvents
from rebalance_agent.polls.record_size_limit import LIMIT_EVERY_S, RecordSizeLimit
from rebalance_agent.polls.topic_metadata import TopicsPoll
from rebalance_agent.polls.vanished import VANISHED_EVERY_S, VanishedGroups
from rebalance_agent.runtime.preflight.rights import ADMIN_ONLY
from rebalance_agent.runtime.processes.schedule import Schedule
from rebalance_agent.runtime.processes.ticker import Ticker
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.watch.core import Core
from rebalance_agent.runtime.watch.observer_share import ObserverShare, fleet_parts
from rebalance_agent.tracking.observations import MemberReported, Observation, PartitionsOwned, topics_named
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.tracker import REBALANCING, Tracker
from rebalance_agent.tracking.views import GroupView

__all__ = ["ClusterWatch", "watch_context", "watch_parts"]

TAIL_CHECK_S = 2.0
"""How often the tail's position is compared with the topic's end: how soon a dead tail is noticed."""

REFRESH_S = 1.0
"""How often metrics are written ahead of scrapes: what changed in a second, a scrape need not do."""

TOPICS_AGAIN_S = 1.0
"""Least time between two looks for topics that a subscription names and the cluster does not have."""

JOIN_S = 2.0
"""Longest wait at stop for a thread: all of them look at their stop signal several times a second."""


def watch_parts(settings: ObserverSettings) -> tuple[str, ...]:
    """What readiness waits for, from before the cluster is even known: else it would be ready for a moment too soon."""
    members, loads = (MEMBERS_PART,) if settings.events_topic else (), ("loads",) if settings.lag_groups else ()
    return (*POLL_NAMES, *loads, OFFSETS_PART, *members, *fleet_parts(settings))


def watch_context(
    properties: Mapping[str, str],
    settings: ObserverSettings,
    inbox: Inbox,
    health: Health,
    meters: Meters,
    clock: Clock,
) -> CollectorContext:
    """What a watch works with; connects in the background."""
    shows = NameFilter(settings.groups_allow, settings.groups_deny)
    return CollectorContext(properties, Cluster(properties), inbox, health, meters, clock, shows)


class ClusterWatch:
    """Collectors, tracker and schedule. ``publish`` gets every event, in order, and must not block."""

    def __init__(
        self,
        context: CollectorContext,
        settings: ObserverSettings,
        cluster_id: str,
        publish: Callable[[Event], None],
        refresh: Callable[[], None],
        *,
        reported: Callable[[MemberEvent | AssignEvent], None] = lambda _report: None,
        progress: PublishProgress | None = None,
        snapshot_written: Callable[[int, int], None] = lambda _now_ms, _size_bytes: None,
    ) -> None:
        """Nothing runs before `start`.

        ``refresh`` is called every now and then to work off what changed; ``reported`` gets what members report, after
        the tracker. ``progress`` of the events on their way to Kafka, if they are; ``snapshot_written`` as in
        `SnapshotStore`.
        """
        self._fleet = fleet = ObserverShare(context, settings, progress, snapshot_written)
        self._context = context = fleet.context
        self._to_publish = publish
        self._reported = reported
        self._denied = ""
        self._topics_asked = float("-inf")
        loads = self._loads_poll(settings)
        members = MemberEvents(context, settings.events_topic, cluster_id) if settings.events_topic else None
        self._tail = OffsetsTail(
            fleet.whole,
            self._offsets_denied,
            on_records=loads.on_records if loads else None,
            ownership=fleet.ownership,
            snapshots=fleet.store,
            on_resumed=members.rewind if members else lambda _since_ms: None,
            on_late=self._describe_soon,
        )
        readers = [each for each in (self._tail, members) if each]
        self._workers = [each.worker for each in readers]
        self._vanished = VanishedGroups(context, self.views, lambda: self._tail.reached)
        listeners = [each.on_topics for each in (*readers, self._vanished, *((loads,) if loads else ()))]
        self._topics = TopicsPoll(context, [*listeners, *fleet.listeners])
        tracker = Tracker(
            cluster_id,
            settle_ms=round(settings.settle_seconds * 1000),
            list_period_ms=settings.list_interval_ms,
            copartitioned=Copartitioned.parse(settings.copartitioned),
        )
        self._keeper = fleet.keep(tracker.unsettled)
        self._core = Core(tracker, context.inbox, context.clock, self._publish, self._hear)
        self._schedule = Schedule(context.clock)
        self._describe = DescribePoll(context, needed=lambda: self._tail.late)
        listing = list_poll("list", REBALANCING, context)
        self._pulse = Ticker(settings.list_interval_ms / 1000, listing, "list", context.clock)
        every = self._schedule.every
        every(settings.list_all_interval_seconds, list_poll("list_all", (), context, self._listed), "list_all")
        every(settings.topics_interval_seconds, self._topics.poll, "topics")
        every(settings.describe_interval_seconds, self._describe.poll, "describe")
        if loads:
            every(settings.lag_interval_seconds, loads.poll, "loads")
        every(TAIL_CHECK_S, self._tail.check, "tail_check")
        every(REFRESH_S, refresh, "refresh")
        every(LIMIT_EVERY_S, RecordSizeLimit(context), "offsets_limit")
        every(VANISHED_EVERY_S, self._vanished, "vanished")

    def views(self) -> tuple[GroupView, ...]:
        """Every group now. From any thread."""
        return self._core.views()

    def denied(self) -> Mapping[str, str]:
        """What it was refused, and still is: degraded mode -> why. From any thread."""
        return {ADMIN_ONLY: self._denied} if self._denied and not self._tail.caught_up.is_set() else {}

    def report(self, event: Event, cluster_id: str) -> bool:
        """Take in what a member said, without the topic; False where too much waits. From any thread."""
        if not isinstance(event, MemberEvent | AssignEvent) or event.cluster_id != cluster_id:
            return True
        self._context.meters.events_received(event.KIND)
        reported = MemberReported(self._context.clock.now_ms(), event)
        return not self._context.shows(event.group) or self._context.inbox.offer(reported)

    def start(self, stack: ExitStack) -> None:
        """Begin; ``stack`` ends it: first what brings observations, then what works them off."""
        self._core.start()
        stack.callback(self._core.join, JOIN_S)
        stack.callback(self._context.inbox.close)
        for worker in self._workers:
            worker.start()
            stack.callback(worker.join, JOIN_S)
        for worker in self._workers:
            stack.callback(worker.stop)
        self._fleet.start()
        for each in (self._pulse, self._schedule):
            each.start()
            stack.callback(each.stop)

    def close(self, timeout: float) -> None:
        """After the end of what `start` began and of what events are published to: write the last snapshot.

        ``timeout`` seconds at most.
        """
        self._fleet.close(timeout, whole=self._core.join(0))

    def _loads_poll(self, settings: ObserverSettings) -> LoadsPoll | None:
        if not settings.lag_groups:
            return None
        follows = NameFilter(settings.lag_groups)
        return LoadsPoll(self._context, follows, self.views, OFFSETS_TOPIC, self._tailing)

    def _tailing(self) -> bool:
        return self._tail.caught_up.is_set()

    def _listed(self, groups: list[str]) -> None:
        self._vanished.on_groups(groups)
        if self._describe.on_groups(groups):
            self._schedule.soon("describe")

    def _describe_soon(self) -> None:
        self._schedule.soon("describe")

    def _publish(self, event: Event) -> None:
        self._to_publish(event)
        if self._keeper:
            self._keeper.on_event(event)

    def _hear(self, observation: Observation) -> None:
        if self._keeper:
            self._keeper.on_observation(observation)
        if isinstance(observation, MemberReported):
            self._reported(observation.event)
        if isinstance(observation, PartitionsOwned):
            self._schedule.soon("list_all")  # there may be groups now of which nothing is known yet
        now = self._context.clock.monotonic()
        if now - self._topics_asked < TOPICS_AGAIN_S:
            return
        topics, ids = topics_named(observation)
        if self._topics.unknown(topics, ids):
            self._topics_asked = now
            self._schedule.soon("topics")

    def _offsets_denied(self, reason: str) -> None:
        # Without this right the watch is poorer and not broken: `source="admin"` says so on every group.
        self._context.health.ready(OFFSETS_PART)
        self._denied = reason
