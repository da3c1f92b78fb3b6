"""Builds the views of groups known only from DescribeGroups: one view per poll, without generations and episodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from rebalance_agent.assignors import find_strategy
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import SETTLED, GroupState, GroupType
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.tracking.memory.state_budget import GROUP_BYTES, described_bytes
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup
from rebalance_agent.tracking.patterns.loads import GroupLoads, LoadHistory
from rebalance_agent.tracking.rebalance.counters import CounterTotals
from rebalance_agent.tracking.tracker_context import no_group
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["PolledGroup"]

_KAFKA_STREAMS = "stream"
"""The assignor of Kafka Streams groups, in which some members may have only standby tasks."""

_Shares = Mapping[str, TopicPartitions | None]
"""Assigned partitions by member id; a missing member's assignment is unknown."""


class PolledGroup:
    """The descriptions of one group; differences between two of them are counted, not explained.

    ``value_bytes``: the approximate memory of the last description, in bytes.
    """

    def __init__(
        self,
        value: DescribedGroup,
        at_ms: int,
        changed: Callable[[str], None],
        may_be_empty: Callable[[str], bool] = no_group,
    ) -> None:
        """Start with the first description, observed at ``at_ms``; ``changed`` is called when the view changes.

        ``may_be_empty``: returns whether the group with a name may have no members on purpose.
        """
        self._changed = changed
        self._version = 0
        self._value, self.value_bytes = _sorted(value), described_bytes(value)
        self._first_seen_ms = at_ms
        self._at_ms = at_ms
        self._totals = CounterTotals(at_ms)
        self._settled: _Shares | None = None
        self._shares: _Shares = {}
        self._loads = LoadHistory()
        self._reports_empty = not may_be_empty(value.group)
        self._empty: EmptyGroup | None = None
        self._share(value)
        self._change()

    def describe(self, value: DescribedGroup, at_ms: int) -> None:
        """Store a description; ignore one that is older than the last description."""
        value = _sorted(value)
        if at_ms >= self._at_ms and value != self._value:
            self._share(value)
            self._see_empty(value, at_ms)
            self._value, self.value_bytes, self._at_ms = value, described_bytes(value), at_ms
            self._change()

    @property
    def size_bytes(self) -> int:
        """The approximate memory that the group takes, in bytes."""
        return GROUP_BYTES + self.value_bytes

    def list_state(self, state: GroupState, at_ms: int) -> None:
        """Store the group's state from ListGroups; ignore a state that is older than the last description."""
        if at_ms >= self._at_ms and state is not self._value.state:
            self._value, self._at_ms = replace(self._value, state=state), at_ms
            self._change()

    def set_back(self, now_ms: int) -> None:
        """Handle a clock that was set back to ``now_ms``: the next description must not count as an old one."""
        self._at_ms = min(self._at_ms, now_ms)

    def load(self, loads: GroupLoads) -> None:
        """Store new loads of the group's partitions."""
        if self._loads.take(loads):
            self._change()

    def view(self) -> GroupView:
        """Build the view, which has no generation, subscriptions or stalls."""
        value = self._value
        members = tuple(replace(member, assigned=self._shares.get(member.member_id)) for member in value.members)
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
            static_members=sum(member.instance_id is not None for member in value.members),
            idle_members=self._idle(members),
            lag_skew_ratio=skews.lag,
            rate_skew_ratio=skews.rate,
            counters=self._totals.counters,
            counted_until_ms=self._at_ms,
            empty=self._empty,
        )

    def _change(self) -> None:
        self._version += 1
        self._changed(self._value.group)

    def _see_empty(self, value: DescribedGroup, at_ms: int) -> None:
        """Record when the members of the last description left: after that poll, and at the latest now."""
        if value.members or not self._reports_empty:
            self._empty = None
        elif self._value.members:
            self._empty = EmptyGroup(at_ms, len(self._value.members))

    def _share(self, value: DescribedGroup) -> None:
        """Store the members' assignments.

        While a classic group rebalances, brokers return no assignments; then the last assignments are kept.
        """
        if value.group_type is GroupType.CLASSIC and value.state not in SETTLED:
            return
        self._shares = {member.member_id: member.assigned for member in value.members}
        if value.state in SETTLED:  # in other states, some members may not have their partitions yet
            if self._settled not in (None, self._shares):
                self._totals.change_polled()
            self._settled = self._shares

    def _idle(self, members: Collection[MemberLoad]) -> int | None:
        """Count members without partitions; None in a rebalance, or if the assignor leaves members idle on purpose."""
        if self._value.state not in SETTLED or _has_passive_members(self._value.assignor):
            return None
        all_known = all(member.assigned is not None for member in members)
        return sum(not member.assigned for member in members) if all_known else None


def _has_passive_members(assignor: str | None) -> bool:
    """Whether the assignor leaves some members without active partitions on purpose."""
    strategy = find_strategy(assignor or "")
    return assignor == _KAFKA_STREAMS or (strategy is not None and strategy.passive_members)


def _sorted(value: DescribedGroup) -> DescribedGroup:
    return replace(value, members=tuple(sorted(value.members, key=lambda member: member.member_id)))
