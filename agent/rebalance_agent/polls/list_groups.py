"""Polls ListGroups, often for rebalancing groups and less often for all, to see when classic rebalances start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.observations import GroupsListed

__all__ = ["list_poll"]


def list_poll(
    name: Literal["list", "list_all"],
    states: Iterable[GroupState],
    context: CollectorContext,
    on_groups: Callable[[list[str]], None] = lambda _groups: None,
) -> Poll:
    """Return a poll that puts `GroupsListed` for ``states`` (empty: all); ``on_groups`` gets shown groups' names."""
    states_wanted = frozenset(states)

    def ask() -> None:
        asked = context.clock.now_ms()
        try:
            listing = context.cluster.list_groups(states_wanted)
        except ClusterError:
            context.inbox.offer(GroupsListed(asked, context.clock.now_ms(), states_wanted, (), complete=False))
            raise
        groups = tuple(group for group in listing.groups if context.shows(group.group))
        context.inbox.offer(GroupsListed(asked, context.clock.now_ms(), states_wanted, groups, listing.complete))
        on_groups([group.group for group in groups])

    return Poll(name, ask, context)
