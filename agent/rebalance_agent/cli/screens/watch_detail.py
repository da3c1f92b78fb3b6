"""One group more closely: what is asked for it, again and again."""

from __future__ import annotations

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.shapes import RebalanceDetail, RebalanceKind
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp

__all__ = ["DetailPoll"]


class DetailPoll:
    """Asks for one group again and again; whole rebalances only when they are new or better known."""

    def __init__(self, groups: GroupSource, name: str) -> None:
        """Ask ``groups`` for the group ``name``."""
        self._groups = groups
        self._name = name
        self._known: dict[tuple[str, int], RebalanceDetail] = {}

    def __call__(self) -> GroupCloseUp:
        """How things stand; raises what ``groups`` raises."""
        detail = self._groups.group(self._name)
        rebalances = self._groups.rebalances(self._name).rebalances
        wanted = [each for each in rebalances if each.kind is RebalanceKind.COMPLETED][:2]
        keys = [(each.id, each.revision) for each in wanted]
        self._known = {key: self._known.get(key) or self._groups.rebalance(self._name, key[0]) for key in keys}
        whole: list[RebalanceDetail | None] = [*self._known.values(), None, None]
        return GroupCloseUp(detail, rebalances, whole[0], whole[1])
