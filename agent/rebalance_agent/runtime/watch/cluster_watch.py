"""Composes the parts that watch one cluster, in the order in which data passes through them.

Record of the offsets topic -> `OffsetsTail` -> `Inbox` -> `Core` -> `Tracker` -> `EventSink`. Polls and members' events
join at the inbox. `ObservationListener` takes each observation after the tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.collector_context import POLL_NAMES, CollectorContext, Meters
from rebalance_agent.cluster.describing.epoch_describer import EpochDescriber
from rebalance_agent.cluster.describing.topologies import Topologies
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.cluster.name_filters import GroupFilter, NameFilter
from rebalance_agent.health import Health
from rebalance_agent.model.events import Event, Reported
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.snapshots.snapshot_schedule import PublishProgress
from rebalance_agent.offsets_topic.tail import OFFSETS_PART, OffsetsTail
from rebalance_agent.offsets_topic.work_share.led_backlog import LedBacklog
from rebalance_agent.offsets_topic.work_share.led_share import LedShare
from rebalance_agent.polls.describe_epochs import EpochPoll
from rebalance_agent.polls.describe_groups import DescribePoll
from rebalance_agent.polls.group_lags import GroupLags
from rebalance_agent.polls.last_reads import READS_EVERY_S, ReadTimesPoll
from rebalance_agent.polls.list_groups import list_poll
from rebalance_agent.polls.member_events import MEMBERS_PART, MemberEvents
from rebalance_agent.polls.settings.dead_letter_queues import DeadLetterQueues
from rebalance_agent.polls.settings.read_schedule import LOOK_EVERY_S
from rebalance_agent.polls.settings.record_size_limit import LIMIT_EVERY_S, RecordSizeLimit
from rebalance_agent.polls.settings.topology_poll import TopologyPoll
from rebalance_agent.polls.topic_metadata import TopicsPoll
from rebalance_agent.polls.vanished import VANISHED_EVERY_S, VanishedGroups
from rebalance_agent.runtime.scheduling.schedule import Schedule
from rebalance_agent.runtime.scheduling.ticker import Ticker
from rebalance_agent.runtime.settings.rights import ADMIN_ONLY, EPOCHS_HIDDEN
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.watch.core import Core
from rebalance_agent.runtime.watch.event_sinks import EventSink, GenerationsBefore, ReportedEvents
from rebalance_agent.runtime.watch.inbox_age import TRACKER_PART, InboxAge
from rebalance_agent.runtime.watch.observer_share import ObserverShare, share_parts
from rebalance_agent.runtime.watch.poll_triggers import PollTriggers
from rebalance_agent.runtime.watch.state_meter import StateMeter
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag
from rebalance_agent.tracking.observations import MemberReported
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.patterns.group_stalls import GroupStallLimits
from rebalance_agent.tracking.tracker import REBALANCING, Tracker
from rebalance_agent.tracking.views import GroupView

__all__ = ["ClusterWatch", "watch_context", "watch_parts"]

TAIL_CHECK_S = 2.0
"""Seconds between comparisons of the tail's position with the topic's end, which detect a tail that stopped."""

JOIN_S = 2.0
"""Longest wait for a thread at stop, in seconds: each thread checks its stop signal several times a second."""


def watch_parts(settings: ObserverSettings) -> tuple[str, ...]:
    """Return a watch's readiness parts, set before the cluster is known so that the process is not ready early."""
    members, loads = (MEMBERS_PART,) if settings.events_topic else (), ("loads",) if settings.lag_groups else ()
    log = (OFFSETS_PART,) if settings.reads_log else ()
    return (*POLL_NAMES, *loads, *log, TRACKER_PART, *members, *share_parts(settings))


def watch_context(
    properties: Mapping[str, str],
    settings: ObserverSettings,
    inbox: Inbox,
    health: Health,
    meters: Meters,
    clock: Clock,
) -> CollectorContext:
    """Return the context of a watch's collectors; its cluster connects in the background."""
    shows = GroupFilter(settings.groups_allow, settings.groups_deny)
    return CollectorContext(properties, Cluster(properties), inbox, health, meters, clock, shows)


class ClusterWatch:
    """Collectors, tracker and schedule of one cluster. The core's thread passes events to the sinks, in order."""

    def __init__(
        self,
        context: CollectorContext,
        settings: ObserverSettings,
        cluster_id: str,
        schedule: Schedule,
        sinks: Sequence[EventSink] = (),
        *,
        history: EpisodeHistory,
        refresh: Callable[[], bool] = lambda: False,
        progress: PublishProgress | None = None,
    ) -> None:
        """Nothing runs before `start`.

        ``schedule`` starts and stops with the watch. ``sinks`` and the ``history`` get the tracker's events; the
        ``history`` also gets the events that members report, and the generations from before the start. ``refresh`` is
        called in the core's thread when views have changed. ``progress`` is the progress of publishing events to Kafka,
        None if events are not published to Kafka.
        """
        self._share = share = ObserverShare(context, settings, progress)
        self._context = context = share.context
        self._denied = ""
        self._source = settings.source
        self._schedule = schedule

        # Two threads: one reads records of the offsets topic into the inbox, the other members' events.
        self._lags = lags = GroupLags.of(context, settings.lag_groups, self.views, self._tailing)
        loads = lags.loads if lags else None
        self._led = LedShare(context, self._by_frames, publishes=progress is not None)
        members = None
        if settings.events_topic:
            members = MemberEvents(context, settings.events_topic, cluster_id, self._led)
        else:
            self._led.begin(LedBacklog())
        self._tail = OffsetsTail(
            share.tail_context,
            self._offsets_denied,
            on_records=loads.on_records if loads else None,
            ownership=share.ownership,
            snapshots=share.store,
            on_resumed=members.rewind if members else lambda _since_ms: None,
            on_late=lambda: self._schedule.soon("describe"),
        )
        readers = [reader for reader in (self._tail, members) if reader]
        self._workers = [reader.worker for reader in readers if reader is not self._tail or settings.reads_log]

        # Polls put their answers into the inbox, too; the parts in ``counted`` get the partition counts.
        self._vanished = VanishedGroups(context, self.views, lambda: self._tail.reached)
        counted = [part for part in (*readers, self._led, self._vanished, loads, share.store) if part]
        topics = TopicsPoll(context, [part.on_topics for part in counted])
        self._epochs = EpochPoll(context, lambda: EpochDescriber(context.cluster.broker_client()), self._hidden)
        self._topologies = TopologyPoll(context, self.views, lambda: Topologies(context.cluster.broker_client()))
        self._describe = DescribePoll(context, needed=lambda: self._tail.late, elsewhere=self._epochs.handles)

        # Observations go from the inbox to the tracker and then to the listeners; the tracker's events go to the sinks.
        tracker = Tracker(
            cluster_id,
            settle_ms=round(settings.settle_seconds * 1000),
            list_period_ms=settings.list_interval_ms,
            copartitioned=Copartitioned.parse(settings.copartitioned),
            may_be_empty=NameFilter(settings.empty_groups_allow)
            if settings.empty_groups_allow
            else lambda _group: False,
            stall_limits=GroupStallLimits.parse(settings.stall_limits),
            host_names=HostNames.parse(settings.host_names),
            state_bytes_max=settings.max_state_bytes,
        )
        reads = ReadTimesPoll(context, tracker.read_questions)
        snapshots = share.snapshot_schedule(tracker.unsettled)
        self._core = Core(
            tracker,
            context.inbox,
            context.clock,
            sinks=[*sinks, history, *snapshots],
            listeners=[
                *snapshots,
                ReportedEvents(history),
                GenerationsBefore(tracker.generations_before, history),
                PollTriggers(self._schedule, topics, reads, context.clock),
                StateMeter(tracker.state_budget, context.meters),
            ],
            refresh=refresh,
        )

        # The intervals of repeated calls.
        listing = list_poll("list", REBALANCING, context, self._describe.on_rebalancing)
        self._list = listing
        self._ticker = Ticker(settings.list_interval_ms / 1000, self._look, "list", context.clock)
        every = self._schedule.every
        every(settings.list_all_interval_seconds, list_poll("list_all", (), context, self._listed), "list_all")
        every(settings.topics_interval_seconds, topics.poll, "topics")
        every(settings.describe_interval_seconds, self._describe.poll, "describe")
        every(settings.describe_interval_seconds, self._describe.again, "describe_again")
        every(settings.describe_interval_seconds, self._epochs.poll, "describe_epochs")
        every(settings.describe_interval_seconds, self._epochs.again, "describe_moving")
        if lags:
            every(settings.lag_interval_seconds, lags.loads.poll, "loads")
            every(settings.lag_interval_seconds, lags.shared.poll, "share_lag")
        every(LOOK_EVERY_S, DeadLetterQueues(context, self.views), "dead_letter_queues")
        every(LOOK_EVERY_S, self._topologies, "topologies")
        every(READS_EVERY_S, reads, "read_times")
        every(TAIL_CHECK_S, self._tail.check, "tail_check")
        every(TAIL_CHECK_S, InboxAge(context), "inbox_age")
        if settings.reads_log:
            every(LIMIT_EVERY_S, RecordSizeLimit(context), "offsets_limit")
        every(VANISHED_EVERY_S, self._vanished, "vanished")

    def views(self) -> tuple[GroupView, ...]:
        """Return the current view of every group. Any thread may call this."""
        return self._core.views()

    def lags(self) -> Mapping[str, GroupLag]:
        """Return the lag of each group that ``lag_groups`` names; each measurement makes a new mapping. Thread-safe."""
        return self._lags() if self._lags else NO_LAGS

    def denied(self) -> Mapping[str, str | None]:
        """Return degraded mode -> reason why access is refused now, None if access is not refused. Thread-safe."""
        epochs = self._epochs.undescribed() if self._hidden() else ""
        return {ADMIN_ONLY: self._denied if self._log_denied() else None, EPOCHS_HIDDEN: epochs or None}

    def report(self, event: Event, cluster_id: str) -> bool:
        """Process a report that a member posted; return False if the inbox is full. Any thread may call this."""
        if not isinstance(event, Reported) or event.cluster_id != cluster_id:
            return True
        self._context.meters.events_received(event.KIND)
        if not self._context.shows(event.group):
            return True
        if isinstance(event, LedGenerationEvent):
            self._led.put(event)
            return True
        return self._context.inbox.offer(MemberReported(self._context.clock.now_ms(), event))

    def start(self, stack: ExitStack) -> None:
        """Start; ``stack`` stops first the collectors that fill the inbox, then the core that empties the inbox."""
        self._core.start()
        stack.callback(self._core.join, JOIN_S)
        stack.callback(self._epochs.close)
        stack.callback(self._topologies.close)
        if self._lags:
            stack.callback(self._lags.shared.close)
        stack.callback(self._context.inbox.close)
        for worker in self._workers:
            worker.start()
            stack.callback(worker.join, JOIN_S)
        for worker in self._workers:
            stack.callback(worker.stop)
        self._share.start()
        for calls in (self._ticker, self._schedule):
            calls.start()
            stack.callback(calls.stop)

    def close(self, timeout: float) -> None:
        """Write the last snapshot in at most ``timeout`` seconds. Call this after the threads and sinks have ended."""
        self._share.close(timeout, complete=self._core.join(0))

    def _by_frames(self) -> bool:
        """Return whether to use the generations that leaders report: only if the offsets topic supplies none."""
        return self._source == "frames" or (self._source == "auto" and self._log_denied())

    def _hidden(self) -> bool:
        """Return whether records of groups are not read, because of the settings or a missing permission."""
        return self._source in ("frames", "describe") or self._log_denied()

    def _log_denied(self) -> bool:
        return bool(self._denied) and not self._tail.caught_up.is_set()

    def _look(self) -> None:
        """List the rebalancing groups, and start what is needed at this interval only for some groups or clusters."""
        self._list()
        self._led.release()
        if self._describe.unsettled:
            self._schedule.soon("describe_again")
        if self._hidden():
            self._schedule.soon("describe_moving")

    def _tailing(self) -> bool:
        return self._tail.caught_up.is_set()

    def _listed(self, groups: list[str]) -> None:
        self._vanished.on_groups(groups)
        if self._describe.on_groups(groups):
            self._schedule.soon("describe")

    def _offsets_denied(self, reason: str) -> None:
        # Without this permission the watch is degraded but works: every group is marked with `source="admin"`.
        self._context.health.ready(OFFSETS_PART)
        if self._tail.was_read and not self._led.begun:
            # The tracker has the generations until now from records, with the coordinators' times.
            self._led.begin(LedBacklog())
        self._denied = reason
