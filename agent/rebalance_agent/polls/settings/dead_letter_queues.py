"""Reads from the settings of share groups where brokers write the records that they archive (KIP-1191, Kafka 4.4)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import LoggedReasons
from rebalance_agent.cluster.worker import failure_reason
from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.model.group import DeadLetterQueue, GroupType
from rebalance_agent.polls.settings.read_schedule import ReadSchedule
from rebalance_agent.tracking.observations import DeadLetterQueuesSeen
from rebalance_agent.tracking.views import GroupView

__all__ = ["DeadLetterQueues"]

TOPIC_SETTING = "errors.deadletterqueue.topic.name"
COPY_SETTING = "errors.deadletterqueue.copy.record.enable"

_log = logging.getLogger(__name__)


class DeadLetterQueues:
    """Puts `DeadLetterQueuesSeen` at each call, with the queues of all share groups that are shown.

    It sends no request while there is no share group. Failures are logged and do not make the observer unready: after
    a failure a group keeps its queue, but without the permission, or if brokers lack the settings, it has none.
    """

    def __init__(self, context: CollectorContext, views: Callable[[], Iterable[GroupView]]) -> None:
        """``views`` returns all current groups."""
        self._context, self._views = context, views
        self._schedule = ReadSchedule()
        self._queues: dict[str, DeadLetterQueue | None] = {}
        self._unread = set[str]()  # groups whose last request failed or was denied
        self._warned = LoggedReasons(_log, "dead letter queues of share groups (Kafka 4.4) are not shown: {}")

    def __call__(self) -> None:
        """Read the settings that are due, the longest overdue first. Never raises."""
        groups = sorted(view.group for view in self._views() if view.group_type is GroupType.SHARE)
        self._queues = {group: self._queues[group] for group in groups if group in self._queues}
        now = self._context.clock.monotonic()
        for group in self._schedule.overdue(groups, now):
            if not self._read(group, now):
                break  # the cluster probably does not answer: each further request would wait, too
        self._unread.intersection_update(groups)
        if not self._unread:
            self._warned.clear()
        if self._queues:
            # All queues each time: a group that was dropped and is known again has no queue until now.
            self._context.inbox.offer(DeadLetterQueuesSeen(self._context.clock.now_ms(), dict(self._queues)))

    def _read(self, group: str, now: float) -> bool:
        """Read the settings of one group; return whether the cluster answered."""
        try:
            self._queues[group] = _queue(self._context.cluster.settings("group", group))
            self._unread.discard(group)
        except AccessDeniedError:
            self._queues[group] = None
            self._unread.add(group)
            self._warned.warn("the permission DescribeConfigs is missing on some or all of these groups")
        except Exception as error:  # noqa: BLE001 - a bug in this package must not end the polling
            self._schedule.retry((group,), now)
            self._unread.add(group)
            self._warned.warn(failure_reason(error, "dead_letter_queues", _log))
            return False
        self._schedule.refresh((group,), now)
        return True


def _queue(settings: Mapping[str, str]) -> DeadLetterQueue | None:
    """Return the queue that these ``settings`` of a group name; None if the brokers do not have the settings."""
    topic, copies = settings.get(TOPIC_SETTING), settings.get(COPY_SETTING)
    return None if topic is None or copies is None else DeadLetterQueue(topic, copies == "true")
