"""Groups known only from DescribeGroups: no generations, no episodes, only what they look like at each poll."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import SETTLED, GroupState, GroupType
from rebalance_agent.rebalances.ledger import Ledger
from rebalance_agent.rebalances.loads import GroupLoads, LoadBook
from rebalance_agent.rebalances.observations import DescribedGroup
from rebalance_agent.rebalances.views import GroupView, MemberLoad

__all__ = ["PolledGroup", "PolledGroups"]

_PASSIVE_ASSIGNORS = frozenset({"cooperative-failover", "failover", "stream"})
"""Assignors that mean some members to have nothing: the passive ones, and those that keep copies."""


class PolledGroup:
    """Follows the descriptions of one group; changes between two of them are counted, not explained."""

    def __init__(self, value: DescribedGroup, at_ms: int) -> None:
        """Begin with a first description."""
        self._value = _sorted(value)
        self._first_seen_ms = at_ms
        self._at_ms = at_ms
        self._version = 1
        self._ledger = Ledger(at_ms)
        self._settled = _owned(value) if value.state in SETTLED else None
        self._loads = LoadBook()

    def describe(self, value: DescribedGroup, at_ms: int) -> bool:
        """Take a later description; True if anything is different. An older one is late and ignored."""
        value = _with_last(_sorted(value), self._value)
        if at_ms < self._at_ms or value == self._value:
            return False
        if value.state in SETTLED:  # in others brokers show nobody's partitions, or only some
            owned = _owned(value)
            if self._settled not in (None, owned):
                self._ledger.change_polled()
            self._settled = owned
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
            MemberLoad(each.member_id, each.instance_id, each.client_id, each.host, each.assigned)
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
            # Brokers show assignments of stable groups only, and no one's subscription or priority.
            idle_members=sum(not each.assigned for each in members)
            if value.state in SETTLED and value.assignor not in _PASSIVE_ASSIGNORS
            else None,
            lag_skew_ratio=skews.lag,
            rate_skew_ratio=skews.rate,
            counters=self._ledger.counters,
            counted_until_ms=self._at_ms,
        )


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


def _with_last(value: DescribedGroup, before: DescribedGroup) -> DescribedGroup:
    """While a classic group rebalances, brokers tell nobody's partitions: members have those of the last generation."""
    if value.group_type is not GroupType.CLASSIC or value.state in SETTLED:
        return value
    had = {each.member_id: each.assigned for each in before.members}
    members = (replace(each, assigned=had.get(each.member_id, each.assigned)) for each in value.members)
    return replace(value, members=tuple(members))


def _owned(value: DescribedGroup) -> dict[str, dict[str, tuple[int, ...]]]:
    return {member.member_id: dict(member.assigned) for member in value.members}
