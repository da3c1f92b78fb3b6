"""Checks whether handovers kept their promise: that the group does not rebalance because of them.

It is known some seconds later, once the coordinator accepts a heartbeat of the new member in the generation of its
predecessor: a client may also join again by itself, for example a leader that finds other topics than its predecessor.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.outcomes.act_trust import ActCheck
from rebalance_agent.gateway.seats.rules.seat_answers import FENCED
from rebalance_agent.groupprotocol.wire.error_codes import FENCED_MEMBER_EPOCH, NO_ERROR, REBALANCE_IN_PROGRESS

__all__ = ["HandoverChecks"]

SETTLED_SECONDS = 3.0
"""Seconds without a rebalance after which a handover was right: other members, and clients that join again by
themselves, show it by then, since they send a heartbeat every 3 s by default."""

HEARTBEAT_SECONDS = 30.0
"""Longest wait for such a heartbeat."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A handover that began ``at`` a time; ``generation``: the group's generation or epoch, which must not change."""

    at: float
    generation: int


class HandoverChecks:
    """The unchecked handovers of one group at one gateway; each member has one at most.

    Methods return what became known. Times are in seconds of the caller's clock.
    """

    def __init__(self) -> None:
        """Nothing was handed over."""
        self._begun: dict[str, _Begun] = {}

    def begun(self, member_id: str, before: int, generation: int, now: float) -> list[ActCheck]:
        """Take a handover in a stable group: ``member_id`` has the seat in ``generation``.

        ``before``: its predecessor's, -1 if unknown (it was behind another gateway). In a group of KIP-848 both are the
        group's epoch, which its members reach one after the other.
        """
        if -1 < before < generation:
            return [ActCheck.WRONG]
        self._begun[member_id] = _Begun(now, max(before, generation))
        return []

    def answered(self, member_id: str, error: int, now: float, epoch: int | None = None) -> list[ActCheck]:
        """A SyncGroup or heartbeat of a member was answered; ``error``: as the coordinator gave it.

        ``epoch``: the member's from then on (KIP-848): a later one than the group's before is a rebalance.
        Any client may name any member, so only errors about the member count, not those about the request.
        """
        begun = self._begun.get(member_id)
        if begun is None or error not in (NO_ERROR, REBALANCE_IN_PROGRESS, FENCED_MEMBER_EPOCH, *FENCED):
            return []
        if error == NO_ERROR and epoch is not None and epoch > begun.generation:
            return self.rejoined(member_id)
        if error == NO_ERROR and now < begun.at + SETTLED_SECONDS:
            return []
        del self._begun[member_id]
        return [ActCheck.RIGHT if error == NO_ERROR else ActCheck.WRONG]

    def rejoined(self, member_id: str) -> list[ActCheck]:
        """The coordinator accepted a JoinGroup of a member, which begins a rebalance."""
        return [] if self._begun.pop(member_id, None) is None else [ActCheck.WRONG]

    def left(self, member_id: str) -> list[ActCheck]:
        """A member leaves: why the group rebalances next is not known."""
        return [] if self._begun.pop(member_id, None) is None else [ActCheck.UNKNOWN]

    def overdue(self, now: float) -> list[str]:
        """The members whose handover is unknown by ``now``: as if they had `left`; to be called at `next_due`."""
        return [member_id for member_id, begun in self._begun.items() if begun.at + HEARTBEAT_SECONDS <= now]

    def next_due(self) -> float | None:
        """When `overdue` is to be called; None: nothing is to be checked."""
        return min((begun.at + HEARTBEAT_SECONDS for begun in self._begun.values()), default=None)
