"""Reads everything that the screen of one group shows."""

from __future__ import annotations

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.shapes import RebalanceDetail, RebalanceKind
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp

__all__ = ["DetailPoll"]


class DetailPoll:
    """A callable that reads one group; it reads the events of new or revised rebalances only."""

    def __init__(self, groups: GroupSource, name: str) -> None:
        """Create the callable. ``name``: the group that is read from ``groups``."""
        self._groups = groups
        self._name = name
        self._details: dict[tuple[str, int], RebalanceDetail] = {}

    def __call__(self) -> GroupCloseUp:
        """Read the group's present state. This raises the same errors as ``groups``."""
        detail = self._groups.group(self._name)
        rebalances = self._groups.rebalances(self._name).rebalances
        completed = [rebalance for rebalance in rebalances if rebalance.kind is RebalanceKind.COMPLETED][:2]
        keys = [(rebalance.id, rebalance.revision) for rebalance in completed]
        self._details = {key: self._details.get(key) or self._groups.rebalance(self._name, key[0]) for key in keys}
        last: list[RebalanceDetail | None] = [*self._details.values(), None, None]
        return GroupCloseUp(detail, rebalances, last[0], last[1])
