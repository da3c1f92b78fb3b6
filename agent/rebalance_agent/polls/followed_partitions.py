"""Selects the partitions whose committed offsets are followed: owned or previously committed partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import pairs
from rebalance_agent.polls.commits import CommittedOffsets
from rebalance_agent.tracking.lag.catch_up import Holders
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["FollowedPartitions"]

ASKED_MAX = 200
"""Maximum number of groups without members whose committed offsets are queried per period: 0.2 s of the coordinators'
time."""

ASK_AGAIN_S = 300.0
"""Seconds until a group without members and commits is queried again: a tool may have set its offsets."""


class _Members(NamedTuple):
    """The ``members`` of a view, the owners of partitions, and the topics to which the members subscribe."""

    members: tuple[MemberLoad, ...]
    holders: Holders
    subscribed: frozenset[str]


_Chosen = dict[str, frozenset[Partition]]


@dataclass(eq=False)
class FollowedPartitions:
    """Chooses the partitions of each group that ``follows`` selects, except share groups, which commit elsewhere.

    A group without members keeps the partitions that it committed before; an observer that did not see these commits
    queries the group's offsets once.
    """

    context: CollectorContext
    follows: Callable[[str], bool]
    _asked_at: dict[str, float] = field(default_factory=dict)
    _found: dict[str, frozenset[Partition]] = field(default_factory=dict)
    _read: dict[str, _Members] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def choose(
        self, views: Iterable[GroupView], topics: Mapping[str, int], commits: CommittedOffsets, *, all_read: bool
    ) -> tuple[_Chosen, _Chosen]:
        """Return owned partitions and all partitions to follow, by group. ``topics``: partition counts of all topics.

        ``all_read``: whether all existing records were read, so that views from records are current.

        Only existing partitions are chosen, since members may report any name, and one invalid topic name makes
        librdkafka's whole request fail.
        """
        followed = [view for view in views if view.group_type is not GroupType.SHARE and self.follows(view.group)]
        self._look_for([view.group for view in followed if not view.members and not commits.offsets(view.group)])
        self._read = {view.group: self._members(view) for view in followed}
        self._known = {
            view.group for view in followed if (all_read or view.source is Source.ADMIN) and _all_known(view)
        }
        owned: _Chosen = {}
        chosen: _Chosen = {}
        for view in followed:
            _, holders, subscribed = self._read[view.group]
            before = set(commits.offsets(view.group)) - holders.keys()
            if view.members:  # commits of other topics remain from an earlier subscription
                before = {pair for pair in before if pair[0] in subscribed}
            else:
                before |= self._found.get(view.group, frozenset())
            had = _existing(holders, topics)
            if partitions := had | _existing(before, topics):
                chosen[view.group], owned[view.group] = partitions, had
        return owned, chosen

    def holders(self, group: str) -> Holders | None:
        """Return the owners of the group's partitions at the last `choose`; None if they are unknown.

        The result is the same object while the members are unchanged.
        """
        return self._read[group].holders if group in self._known else None

    def _members(self, view: GroupView) -> _Members:
        """Return the members' partitions and topics, computed again only if the view has changed."""
        read = self._read.get(view.group)
        if read and read.members is view.members:
            return read
        holders: dict[Partition, frozenset[str]] = {}
        for member in view.members:
            names = frozenset((identity(member),))
            for partition in pairs(member.assigned or {}):
                holders[partition] = holders[partition] | names if partition in holders else names
        subscribed = frozenset[str]().union(*(member.topics or () for member in view.members))
        return _Members(view.members, holders, subscribed)

    def _look_for(self, groups: Collection[str]) -> None:
        """Query the offsets of groups without members and known offsets; query each group again from time to time."""
        now = self.context.clock.monotonic()
        self._asked_at = {group: at for group, at in self._asked_at.items() if group in groups}
        self._found = {group: partitions for group, partitions in self._found.items() if group in groups}
        due = [group for group in groups if now - self._asked_at.get(group, float("-inf")) >= ASK_AGAIN_S]
        if not (asked := sorted(due)[:ASKED_MAX]):
            return
        self._asked_at |= dict.fromkeys(asked, now)
        try:
            answers = self.context.cluster.committed(asked)
        except ClusterError:
            return  # the lag stays unknown; the poll itself reports other failures
        self._found |= {group: frozenset(offsets) for group, offsets in answers.items()}


def _all_known(view: GroupView) -> bool:
    return all(member.assigned is not None for member in view.members)


def _existing(partitions: Iterable[Partition], topics: Mapping[str, int]) -> frozenset[Partition]:
    return frozenset((topic, number) for topic, number in partitions if number < topics.get(topic, 0))
