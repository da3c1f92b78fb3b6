"""Each partition's way through a rebalance that the coordinator records step by step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberState
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import PartitionHandover

__all__ = ["Handovers"]

EARLIER_MAX = 8
"""Ways of one partition that are kept of one rebalance: the longest, where members never come to rest."""

_NOTHING = CurrentAssignment(-1, -1, MemberState.STABLE, {})


class Handovers:
    """Follows the current assignments of one group's members; times are the records'."""

    def __init__(self) -> None:
        """Begin with nothing on its way."""
        self._ways: dict[tuple[str, int], PartitionHandover] = {}
        self._earlier: dict[tuple[str, int], list[PartitionHandover]] = {}
        self._asked_ms: dict[str, int] = {}
        self._took_ms: dict[str, int] = {}

    def see(
        self,
        member_id: str,
        old: CurrentAssignment | None,
        new: CurrentAssignment | None,
        at_ms: int,
        *,
        told: bool = True,
        held: Collection[tuple[str, int]] = (),
    ) -> None:
        """A member's assignment became ``new``; None: it is gone. ``told``: what it is to give up is recorded first.

        ``held``: what anybody works on now.
        """
        before, after = old or _NOTHING, new or _NOTHING
        had, has = before.held, after.held
        for partition in pairs(after.revoking) - pairs(before.revoking):
            self._ways[partition] = replace(self._onward(partition), asked_ms=at_ms, released_ms=None)
        for partition in had - has:
            parted = partition not in held
            way = self._onward(partition) if parted else self._ways.get(partition, PartitionHandover())
            if way.parted and way.given_ms is not None:
                continue  # others have it by now, and what matters is that once nobody had
            asked_ms = way.asked_ms if partition in pairs(before.revoking) else at_ms
            # Of a member that left or was expelled, nobody knows when it stopped; nor of one that was not asked.
            asked_ms = asked_ms if new and told else None
            self._ways[partition] = replace(way, asked_ms=asked_ms, released_ms=at_ms, parted=parted)
        for partition in pairs(after.assigned) - had:
            way = self._ways.get(partition, PartitionHandover())
            if way.given_ms is None:  # in a share group others may get it, too
                self._ways[partition] = replace(way, given_ms=at_ms)
        self._time_revocation(member_id, after, at_ms)

    def take(
        self, waiting: Collection[tuple[str, int]] = ()
    ) -> tuple[dict[tuple[str, int], PartitionHandover], dict[str, int]]:
        """What happened since the last call: each partition's way, and how long each member took to give up.

        The ways of those that are still ``waiting`` for somebody are told again, with their ends.
        """
        ways, earlier, took = self._ways, self._earlier, self._took_ms
        self._ways = {each: replace(ways[each], given_ms=None) for each in waiting if each in ways}
        self._earlier, self._took_ms = {}, {}
        return ways | {each: replace(ways[each], earlier=tuple(some)) for each, some in earlier.items()}, took

    def _onward(self, partition: tuple[str, int]) -> PartitionHandover:
        """Its way, or a new one if it came to somebody by that: then how it stood still until then is kept."""
        way = self._ways.get(partition, PartitionHandover())
        if way.given_ms is None:
            return way
        if way.released_ms is not None and way.parted:
            ways = self._earlier.setdefault(partition, [])
            ways.append(way)
            if len(ways) > EARLIER_MAX:
                ways.remove(min(ways, key=_length_ms))
        return PartitionHandover()

    def _time_revocation(self, member_id: str, after: CurrentAssignment, at_ms: int) -> None:
        if after.state is MemberState.UNREVOKED:
            self._asked_ms.setdefault(member_id, at_ms)
        elif (asked_ms := self._asked_ms.pop(member_id, None)) is not None:
            took_ms = max(0, at_ms - asked_ms)
            self._took_ms[member_id] = max(took_ms, self._took_ms.get(member_id, 0))


def _length_ms(way: PartitionHandover) -> int:
    return (way.given_ms or 0) - (way.released_ms or 0)
