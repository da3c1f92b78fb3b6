"""Defines the four queries about groups, which an observer, a watch inside a command, or an agent over HTTP answers."""

from __future__ import annotations

from typing import Protocol

from rebalance_agent.api.query import GroupQuery
from rebalance_agent.api.routes import LIMIT_MAX
from rebalance_agent.api.shapes import GroupDetail, GroupList, RebalanceDetail, RebalanceList
from rebalance_agent.visible_names import did_you_mean

__all__ = ["GroupSource", "meant_group"]


class GroupSource(Protocol):
    """Answers about groups and their rebalances; each method corresponds to one path of the API.

    A group's name may also have the form on /metrics, which shortens long names; answers contain the whole name.

    Raises:
        RebalanceAgentError: from any method, if the source cannot answer because it is not reachable or not ready yet.
    """

    def groups(self, query: GroupQuery | None = None) -> GroupList:
        """Return the groups that ``query`` selects; without a query, all groups up to the default limit."""
        ...

    def group(self, name: str) -> GroupDetail:
        """Return one group.

        Raises:
            NotKnownError: there is no such group.
        """
        ...

    def rebalances(self, name: str) -> RebalanceList:
        """Return a group's last rebalances, newest first.

        Raises:
            NotKnownError: there is no such group.
        """
        ...

    def rebalance(self, name: str, identity: str) -> RebalanceDetail:
        """Return one rebalance with its events; the id of any of these events identifies it.

        Raises:
            NotKnownError: the rebalance is not stored, or there is no such group.
        """
        ...


def meant_group(groups: GroupSource, name: str) -> str:
    """Return the end of an error on an unknown group, "; did you mean X?", or empty without a group of similar name.

    Raises:
        RebalanceAgentError: the source cannot answer.
    """
    return did_you_mean(name, [summary.group for summary in groups.groups(GroupQuery(limit=LIMIT_MAX)).groups])
