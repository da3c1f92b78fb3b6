"""Makes the advice on a group's page, from all kept rebalances; caches it, since comparing them takes time."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from rebalance_agent.advice import advise, history_of
from rebalance_agent.advice.group_advice import TOO_LARGE
from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.shapes import RebalanceList
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.ui.sentences.explained.observed_rebalances import every_event
from rebalance_agent.ui.sentences.explanation import LAST_MAX, last_rebalances

__all__ = ["PageAdvice"]

MEMBERS_MAX = 2_000
"""Maximum number of members, summed over all kept rebalances, of a group with advice: reading the events takes
about 0.1 s."""

SIZE_MAX = 10_000
"""Maximum number of members and partitions, summed over all kept rebalances: replaying the rebalances takes about
0.3 s."""

GROUPS_MAX = 64
"""Maximum number of groups whose advice, of a few hundred characters each, is cached."""

_Key = tuple[tuple[str, int], ...]


class PageAdvice:
    """The advice for the groups that were requested last. Thread-safe."""

    def __init__(self, groups: GroupSource, hosts: HostNames | None = None) -> None:
        """``groups`` is read when a group's rebalances have changed. ``hosts``: what counts as a member's host."""
        self._groups = groups
        self._hosts = hosts
        self._lock = Lock()
        self._cached: OrderedDict[str, tuple[_Key, str]] = OrderedDict()

    def of(self, remembered: RebalanceList) -> str:
        """Return the advice of `explain` for the group, or a note that the group is too large for the page."""
        if sum(line.members for line in remembered.rebalances) > MEMBERS_MAX:
            return TOO_LARGE
        key = tuple((line.id, line.revision) for line in remembered.rebalances)
        with self._lock:
            cached = self._cached.get(remembered.group)
        if cached and cached[0] == key:
            return cached[1]
        details = last_rebalances(self._groups, remembered, LAST_MAX)
        advice = advise(history_of(every_event(details)), SIZE_MAX, self._hosts)
        with self._lock:
            self._cached[remembered.group] = key, advice
            self._cached.move_to_end(remembered.group)
            while len(self._cached) > GROUPS_MAX:
                self._cached.popitem(last=False)
        return advice
