"""A group whose records the observer has no permission to read: it only describes the group."""

from __future__ import annotations

from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed, GroupRecord, Tick
from rebalance_agent.tracking.views import MemberLoad

__all__ = ["DescribedOnly"]

EVERY_MS = 5_000
"""The observer's default of ``describe_interval_seconds``."""


class DescribedOnly:
    """Turns the records of a group into the description after each, for a `ScrapedGroup`."""

    def __init__(self, group):
        self._group = group

    def observe(self, observation):
        if isinstance(observation, GroupRecord):
            at_ms = -(-observation.seen_ms // EVERY_MS) * EVERY_MS
            return self._group.observe(GroupDescribed(at_ms, _described(observation.value)))
        return self._group.observe(observation) if isinstance(observation, Tick) else ()

    @property
    def behind(self):
        return self._group.behind


def _described(value):
    return DescribedGroup(
        value.group,
        GroupState.STABLE if value.members else GroupState.EMPTY,
        GroupRecord.group_type,
        value.protocol,
        tuple(
            MemberLoad(each.member_id, each.instance_id, each.client_id, each.client_host, each.assigned)
            for each in value.members
        ),
    )
