"""The members that the others of a group waited for, kept longer than the rebalance in which they did.

A member that is removed because it is slow joins again at once. That next rebalance has another slowest member, so the
slowest member of the last rebalance alone would hardly ever be the one that costs most.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.model.events import GenerationEvent

__all__ = ["AWAITED_MAX", "AwaitedMember", "AwaitedMembers"]

AWAITED_MAX = 5
"""Members that are kept of one group: the one of the last rebalance, and those with the longest waits before."""


class AwaitedMember(NamedTuple):
    """The others certainly waited ``seconds`` for this member in the last rebalance whose slowest member it was.

    ``at_ms``: when that rebalance completed (epoch ms, the coordinator's clock).
    """

    client_id: str
    host: str
    seconds: float
    at_ms: int


_NONE: Mapping[str, AwaitedMember] = MappingProxyType({})


class AwaitedMembers:
    """The slowest members of one group's rebalances, one entry for each client id and host; at most `AWAITED_MAX`."""

    __slots__ = ("_by_rebalance",)

    def __init__(self) -> None:
        """Start without any: most groups have none, and share this mapping."""
        self._by_rebalance: Mapping[str, AwaitedMember] = _NONE

    @property
    def shown(self) -> tuple[AwaitedMember, ...]:
        """The members, the one of the last rebalance first."""
        return tuple(self._by_rebalance.values())

    def add(self, closing: GenerationEvent) -> None:
        """Add the slowest member of a rebalance that settled or was revised; ``closing``: its closing event.

        A revision replaces what the rebalance added before.
        """
        kept = {event_id: member for event_id, member in self._by_rebalance.items() if event_id != closing.event_id}
        if closing.slowest_client_id is not None and closing.slowest_lower_seconds is not None:
            host = (closing.slowest_host or "").removeprefix("/")
            kept[closing.event_id] = AwaitedMember(
                closing.slowest_client_id, host, closing.slowest_lower_seconds, closing.timestamp_ms
            )
        latest: dict[tuple[str, str], str] = {}
        newest_first = sorted(kept, key=lambda event_id: -kept[event_id].at_ms)
        for event_id in newest_first:
            latest.setdefault(kept[event_id][:2], event_id)
        last, *before = latest.values() if latest else [""]
        longest = sorted(before, key=lambda event_id: -kept[event_id].seconds)[: AWAITED_MAX - 1]
        chosen = {last, *longest}
        self._by_rebalance = {event_id: kept[event_id] for event_id in newest_first if event_id in chosen}
