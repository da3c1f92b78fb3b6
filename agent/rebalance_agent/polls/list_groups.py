"""ListGroups, asked often for rebalancing groups and now and then for all: the way to see a classic rebalance begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.observations import GroupsListed

__all__ = ["list_poll"]


def list_poll(
    name: Literal["list", "list_all"],
    states: Iterable[GroupState],
    context: CollectorContext,
    on_groups: Callable[[list[str]], None] = lambda _groups: None,
) -> Poll:
    """A poll that puts `GroupsListed` for ``states`` (none: all); ``on_groups`` hears the names of those shown."""
    states_wanted = frozenset(states)

    def ask() -> None:
        asked = context.clock.now_ms()
        listing = context.cluster.list_groups(states_wanted)
        groups = tuple(each for each in listing.groups if context.shows(each.group))
        context.inbox.offer(GroupsListed(asked, context.clock.now_ms(), states_wanted, groups, listing.complete))
        on_groups([each.group for each in groups])

    return Poll(name, ask, context)
