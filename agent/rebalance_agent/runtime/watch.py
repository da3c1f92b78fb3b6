"""The observer's parts for one cluster that answered: what feeds what, and in which order they begin and end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import structlog

from rebalance_agent.collectors.context import POLL_NAMES, Context
from rebalance_agent.collectors.describe import DescribePoll
from rebalance_agent.collectors.list_poll import list_poll
from rebalance_agent.collectors.member_events import MEMBERS_PART, MemberEvents
from rebalance_agent.collectors.offsets_topic import OFFSETS_PART, OffsetsTail
from rebalance_agent.collectors.topics import TopicsPoll
from rebalance_agent.model.events import Event
from rebalance_agent.rebalances.observations import Observation, topics_named
from rebalance_agent.rebalances.tracker import REBALANCING, Tracker
from rebalance_agent.rebalances.views import GroupView
from rebalance_agent.runtime.core import Core
from rebalance_agent.runtime.schedule import Schedule
from rebalance_agent.runtime.settings import ObserverSettings

__all__ = ["Watch", "watch_parts"]

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
    return (*POLL_NAMES, OFFSETS_PART, *((MEMBERS_PART,) if settings.events_topic else ()))


class Watch:
    """Collectors, tracker and schedule. ``publish`` gets every event, in order, and must not block."""

    def __init__(
        self,
        context: Context,
        settings: ObserverSettings,
        cluster_id: str,
        publish: Callable[[Event], None],
        refresh: Callable[[], None],
    ) -> None:
        """``refresh`` is called every now and then to work off what changed. Nothing runs before `start`."""
        self._context = context
        self._log = structlog.get_logger("rebalance_agent.observer")
        self._told_denied = False
        self._topics_asked = float("-inf")
        self._tail = OffsetsTail(context, self._offsets_denied)
        members = MemberEvents(context, settings.events_topic, cluster_id) if settings.events_topic else None
        readers = [each for each in (self._tail, members) if each]
        self._workers = [each.worker for each in readers]
        self._topics = TopicsPoll(context, [each.on_topics for each in readers])
        self._core = Core(
            Tracker(
                cluster_id, settle_ms=round(settings.settle_seconds * 1000), list_period_ms=settings.list_interval_ms
            ),
            context.inbox,
            context.clock,
            publish,
            self._hear,
        )
        self._schedule = Schedule(context.clock)
        self._describe = DescribePoll(context, wanted=lambda: not self._tail.exact.is_set())
        every = self._schedule.every
        every(settings.list_interval_ms / 1000, list_poll("list", REBALANCING, context), "list")
        every(settings.list_all_interval_seconds, list_poll("list_all", (), context, self._listed), "list_all")
        every(settings.topics_interval_seconds, self._topics.poll, "topics")
        every(settings.describe_interval_seconds, self._describe.poll, "describe")
        every(TAIL_CHECK_S, self._tail.check, "tail_check")
        every(REFRESH_S, refresh, "refresh")

    def views(self) -> tuple[GroupView, ...]:
        """Every group now. From any thread."""
        return self._core.views()

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
        self._schedule.start()
        stack.callback(self._schedule.stop)

    def _listed(self, groups: list[str]) -> None:
        if self._describe.on_groups(groups):
            self._schedule.soon("describe")

    def _hear(self, observation: Observation) -> None:
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
        if not self._told_denied:
            self._told_denied = True
            self._log.warning(
                "offsets_topic_denied",
                reason=reason,
                effect="groups are described instead: no generations, no aborted rebalances, no stalls; source=admin",
                command="kafka-acls.sh --add --allow-principal User:... --operation Read --operation Describe "
                "--topic __consumer_offsets",
            )
