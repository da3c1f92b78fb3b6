"""Each partition's way through a rebalance that the coordinator records step by step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rebalance_agent.model.epochs import CurrentAssignment, MemberState
from rebalance_agent.model.partitions import pairs
from rebalance_agent.rebalances.generations import Handover

__all__ = ["Handovers"]

_NOTHING = CurrentAssignment(-1, -1, MemberState.STABLE, {})


class Handovers:
    """Follows the current assignments of one group's members; times are the records'."""

    def __init__(self) -> None:
        """Begin with nothing on its way."""
        self._ways: dict[tuple[str, int], Handover] = {}
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
            self._step(partition, asked_ms=at_ms, released_ms=None)
        for partition in had - has:
            way = self._ways.get(partition)
            asked_ms = way.asked_ms if way and partition in pairs(before.revoking) else at_ms
            # Of a member that left or was expelled, nobody knows when it stopped; nor of one that was not asked.
            asked_ms = asked_ms if new and told else None
            self._step(partition, asked_ms=asked_ms, released_ms=at_ms, parted=partition not in held)
        for partition in pairs(after.assigned) - had:
            self._step(partition, given_ms=at_ms)
        self._time_revocation(member_id, after, at_ms)

    def take(self, waiting: Collection[tuple[str, int]] = ()) -> tuple[dict[tuple[str, int], Handover], dict[str, int]]:
        """What happened since the last call: each partition's way, and how long each member took to give up.

        The ways of those that are still ``waiting`` for somebody are told again, with their ends.
        """
        ways, took = self._ways, self._took_ms
        self._ways = {each: replace(ways[each], given_ms=None) for each in waiting if each in ways}
        self._took_ms = {}
        return ways, took

    def _step(self, partition: tuple[str, int], *, parted: bool | None = None, **times: int | None) -> None:
        way = self._ways.get(partition, Handover())
        self._ways[partition] = replace(way, parted=way.parted if parted is None else parted, **times)

    def _time_revocation(self, member_id: str, after: CurrentAssignment, at_ms: int) -> None:
        if after.state is MemberState.UNREVOKED:
            self._asked_ms.setdefault(member_id, at_ms)
        elif (asked_ms := self._asked_ms.pop(member_id, None)) is not None:
            took_ms = max(0, at_ms - asked_ms)
            self._took_ms[member_id] = max(took_ms, self._took_ms.get(member_id, 0))
