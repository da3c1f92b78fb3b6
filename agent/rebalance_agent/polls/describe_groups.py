"""DescribeGroups: the groups' first state if the backfill takes long, and the only one if reading is denied."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.tracking.observations import GroupDescribed

__all__ = ["BATCH_MAX", "DescribePoll"]

BATCH_MAX = 100
"""Groups per request. A group takes a broker about 1 ms, so a batch does not block it for long."""


class DescribePoll:
    """Describes the listed groups while ``needed()``; puts one `GroupDescribed` for each."""

    def __init__(self, context: CollectorContext, needed: Callable[[], bool]) -> None:
        """``needed`` is called before every batch; no batch begins after the inbox was closed."""
        self._context = context
        self._needed = needed
        self._groups: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self.poll = Poll("describe", self._ask, context)

    def on_groups(self, groups: Iterable[str]) -> bool:
        """Take the names of all listed groups; return whether some are new and should be described now."""
        with self._lock:
            before, self._groups = self._groups, tuple(sorted(groups))
            return not set(before) >= set(self._groups)

    def _ask(self) -> None:
        with self._lock:
            groups = self._groups
        for start in range(0, len(groups), BATCH_MAX):
            if self._context.inbox.closed or not self._needed():
                return
            asked = self._context.clock.now_ms()
            for group in self._context.cluster.describe_groups(groups[start : start + BATCH_MAX]):
                self._context.inbox.offer(GroupDescribed(asked, group))
