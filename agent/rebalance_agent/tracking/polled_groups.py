"""Groups known only from DescribeGroups: no generations, no episodes, only what they look like at each poll."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import SETTLED, GroupState, GroupType
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.tracking.patterns.loads import GroupLoads, LoadHistory
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["PolledGroup", "PolledGroups"]

_PASSIVE_ASSIGNORS = frozenset({"cooperative-failover", "failover", "stream"})
"""Assignors that mean some members to have nothing: the passive ones, and those that keep copies."""

_Shares = Mapping[str, TopicPartitions]
"""What members have, by their ids; of one that is not in it nobody knows."""


class PolledGroup:
    """Follows the descriptions of one group; changes between two of them are counted, not explained."""

    def __init__(self, value: DescribedGroup, at_ms: int) -> None:
        """Begin with a first description."""
        self._value = _sorted(value)
        self._first_seen_ms = at_ms
        self._at_ms = at_ms
        self._version = 1
        self._ledger = CounterTotals(at_ms)
        self._settled: _Shares | None = None
        self._shares: _Shares = {}
        self._loads = LoadHistory()
        self._share(value)

    def describe(self, value: DescribedGroup, at_ms: int) -> bool:
        """Take a later description; True if anything is different. An older one is late and ignored."""
        value = _sorted(value)
        if at_ms < self._at_ms or value == self._value:
            return False
        self._share(value)
        self._value, self._at_ms = value, at_ms
        self._version += 1
        return True

    def list_state(self, state: GroupState, at_ms: int) -> bool:
        """Take the state that a list shows; True if it is news."""
        if at_ms < self._at_ms or state is self._value.state:
            return False
        self._value = replace(self._value, state=state)
        self._at_ms = at_ms
        self._version += 1
        return True

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to this: the next description is no late one."""
        self._at_ms = min(self._at_ms, now_ms)

    def load(self, loads: GroupLoads) -> bool:
        """What its partitions carry was measured anew; True if anything is different."""
        changed = self._loads.take(loads)
        self._version += changed
        return changed

    def view(self) -> GroupView:
        """What is known: nothing about generations, subscriptions or stalls."""
        value = self._value
        members = tuple(
            MemberLoad(each.member_id, each.instance_id, each.client_id, each.host, self._shares.get(each.member_id))
            for each in value.members
        )
        skews = self._loads.skews(members)
        return GroupView(
            group=value.group,
            group_type=value.group_type,
            source=Source.ADMIN,
            state=value.state,
            version=self._version,
            first_seen_ms=self._first_seen_ms,
            assignor=value.assignor or None,
            members=members,
            static_members=sum(each.instance_id is not None for each in value.members),
            idle_members=self._idle(members),
            lag_skew_ratio=skews.lag,
            rate_skew_ratio=skews.rate,
            counters=self._ledger.counters,
            counted_until_ms=self._at_ms,
        )

    def _share(self, value: DescribedGroup) -> None:
        """Learn who has what. While a classic group rebalances brokers tell nobody's, so all have what they had."""
        if value.group_type is GroupType.CLASSIC and value.state not in SETTLED:
            return
        self._shares = {member.member_id: member.assigned for member in value.members}
        if value.state in SETTLED:  # in others only some may have their partitions yet
            if self._settled not in (None, self._shares):
                self._ledger.change_polled()
            self._settled = self._shares

    def _idle(self, members: Collection[MemberLoad]) -> int | None:
        """How many have nothing, where all is settled and known; nobody's subscription or priority is."""
        if self._value.state not in SETTLED or self._value.assignor in _PASSIVE_ASSIGNORS:
            return None
        known = all(each.assigned is not None for each in members)
        return sum(not each.assigned for each in members) if known else None


class PolledGroups:
    """The groups of which no record tells. ``changed`` is told the names of those that look different, come or go."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        """Begin with no group."""
        self._changed = changed
        self._groups: dict[str, PolledGroup] = {}

    def __contains__(self, name: str) -> bool:
        """Whether it was described."""
        return name in self._groups

    def names(self) -> Collection[str]:
        """All of them."""
        return self._groups.keys()

    def view(self, name: str) -> GroupView | None:
        """The group as it was described last."""
        group = self._groups.get(name)
        return group.view() if group else None

    def describe(self, value: DescribedGroup, at_ms: int) -> None:
        """A group was described; one that is Dead is not there."""
        group = self._groups.get(value.group)
        if value.state is GroupState.DEAD:
            self.drop(value.group)
        elif group is None:
            self._groups[value.group] = PolledGroup(value, at_ms)
            self._changed(value.group)
        elif group.describe(value, at_ms):
            self._changed(value.group)

    def list_state(self, name: str, state: GroupState, at_ms: int) -> None:
        """A list of groups shows it in this state."""
        if self._groups[name].list_state(state, at_ms):
            self._changed(name)

    def load(self, name: str, loads: GroupLoads) -> None:
        """What its partitions carry was measured anew."""
        if (group := self._groups.get(name)) and group.load(loads):
            self._changed(name)

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to this."""
        for group in self._groups.values():
            group.set_back(now_ms)

    def drop(self, name: str) -> None:
        """It is not there any more, or not here."""
        if self._groups.pop(name, None):
            self._changed(name)

    def replace(self, name: str) -> None:
        """Its records tell more from now on: there is a view of it as before."""
        self._groups.pop(name, None)


def _sorted(value: DescribedGroup) -> DescribedGroup:
    return replace(value, members=tuple(sorted(value.members, key=lambda member: member.member_id)))
