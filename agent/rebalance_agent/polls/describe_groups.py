"""Polls DescribeGroups, which shows groups early if the backfill takes long, or if the topic may not be read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.describing.isolated_describer import GROUPS_MAX
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.model.group import SETTLED
from rebalance_agent.tracking.observations import GroupDescribed

__all__ = ["AGAIN_MAX", "BATCH_MAX", "DescribePoll"]

BATCH_MAX = GROUPS_MAX
"""Maximum number of groups per request: this process, too, has all their members' assignments in memory."""

AGAIN_MAX = 20
"""Maximum number of groups that one call of `DescribePoll.again` describes: it runs several times a second."""


class DescribePoll:
    """Describes the listed groups while ``needed()`` is true; puts one `GroupDescribed` for each group.

    Groups that rebalance or reconcile are described more often, by `again`, until they have settled.
    """

    def __init__(
        self,
        context: CollectorContext,
        needed: Callable[[], bool],
        elsewhere: Callable[[str], bool] = lambda _group: False,
    ) -> None:
        """``needed`` is called before every batch; no batch starts after the inbox was closed.

        ``elsewhere``: returns whether another poll describes a group.
        """
        self._elsewhere = elsewhere
        self._context = context
        self._needed = needed
        self._groups: tuple[str, ...] = ()
        self._unsettled: dict[str, None] = {}
        self._lock = threading.Lock()
        self.poll = Poll("describe", self._ask, context)
        self._poll_again = Poll("describe", self._ask_again, context)

    def on_groups(self, groups: Iterable[str]) -> bool:
        """Store the names of all listed groups; return whether some are new and should be described now."""
        with self._lock:
            before, self._groups = self._groups, tuple(sorted(groups))
            return not set(before) >= set(self._groups)

    def on_rebalancing(self, groups: Iterable[str]) -> None:
        """Store the names of groups that are rebalancing."""
        if self._needed():
            with self._lock:
                self._unsettled.update(dict.fromkeys(groups))

    def again(self) -> None:
        """Describe again up to `AGAIN_MAX` groups that had not settled, in turn."""
        if self.unsettled:
            self._poll_again()

    @property
    def unsettled(self) -> bool:
        """Whether `again` has groups to describe."""
        with self._lock:
            return bool(self._unsettled)

    def _ask(self) -> None:
        with self._lock:
            groups = self._groups
        for start in range(0, len(groups), BATCH_MAX):
            if not self._describe(groups[start : start + BATCH_MAX]):
                return

    def _ask_again(self) -> None:
        with self._lock:
            groups = tuple(islice(self._unsettled, AGAIN_MAX))
        self._describe(groups)

    def _describe(self, asked_groups: Sequence[str]) -> bool:
        """Describe ``asked_groups``; return False if descriptions are no longer needed."""
        if self._context.inbox.closed or not self._needed():
            with self._lock:
                self._unsettled.clear()
            return False
        groups = [name for name in asked_groups if not self._elsewhere(name)]
        asked = self._context.clock.now_ms()
        try:
            described = self._context.cluster.describe_groups(groups) if groups else []
        except AccessDeniedError:
            # The cluster answered. A group may have a topic that must not be described; permissions are probed
            # separately.
            described = []
        answered = self._context.clock.now_ms()
        with self._lock:
            for name in asked_groups:  # a deleted group has no description
                self._unsettled.pop(name, None)
            self._unsettled.update({group.group: None for group in described if group.state not in SETTLED})
        for group in described:
            self._context.inbox.offer(GroupDescribed(asked, group, answered))
        return True
