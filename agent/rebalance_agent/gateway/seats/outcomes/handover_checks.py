"""Checks whether handovers had the intended effect: that they caused no rebalance of the group.

The result is known some seconds later, once the coordinator accepts a heartbeat of the new member in its predecessor's
generation. Until then a client may rejoin by itself, for example a leader whose metadata differ from the metadata of
its predecessor.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.outcomes.act_trust import ActCheck
from rebalance_agent.gateway.seats.rules.seat_answers import FENCED
from rebalance_agent.groupprotocol.wire.error_codes import FENCED_MEMBER_EPOCH, NO_ERROR, REBALANCE_IN_PROGRESS

__all__ = ["HandoverChecks"]

SETTLED_SECONDS = 3.0
"""Seconds without a rebalance after which a handover counts as correct: by default, members send a heartbeat every 3 s,
so other members, or clients that rejoin by themselves, would have shown a rebalance by then."""

HEARTBEAT_SECONDS = 30.0
"""Longest wait (seconds) for the heartbeat that would show a rebalance."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A handover that began at the time ``at``; ``generation``: the group's generation or epoch, to stay the same."""

    at: float
    generation: int


class HandoverChecks:
    """The unchecked handovers of one group at one gateway, at most one for each member.

    Methods return the results that have become known. Times are in seconds of the caller's clock.
    """

    def __init__(self) -> None:
        """Start without handovers."""
        self._begun: dict[str, _Begun] = {}

    def begun(self, member_id: str, before: int, generation: int, now: float) -> list[ActCheck]:
        """Process a handover in a stable group: ``member_id`` has the seat in ``generation``.

        ``before``: its predecessor's generation; -1 if unknown (behind another gateway). In a KIP-848 group, both are
        group epochs, which members reach one after the other.
        """
        if -1 < before < generation:
            return [ActCheck.WRONG]
        self._begun[member_id] = _Begun(now, max(before, generation))
        return []

    def answered(self, member_id: str, error: int, now: float, epoch: int | None = None) -> list[ActCheck]:
        """Process the answer to a SyncGroup or heartbeat of a member; ``error``: the coordinator's error code.

        ``epoch``: the member epoch after the answer (KIP-848). If it is later than the group epoch before the handover,
        there was a rebalance. Any client may name any member, so only errors about the member count, not errors about
        the request.
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
        """Record that the coordinator accepted a JoinGroup of a member, which starts a rebalance."""
        return [] if self._begun.pop(member_id, None) is None else [ActCheck.WRONG]

    def left(self, member_id: str) -> list[ActCheck]:
        """Record that a member leaves: the cause of the next rebalance is then unknown."""
        return [] if self._begun.pop(member_id, None) is None else [ActCheck.UNKNOWN]

    def overdue(self, now: float) -> list[str]:
        """Return the members whose handover is still undecided ``now``; treat them as `left`. Call it at `next_due`."""
        return [member_id for member_id, begun in self._begun.items() if begun.at + HEARTBEAT_SECONDS <= now]

    def next_due(self) -> float | None:
        """Return when to call `overdue` next; None if no handover is to be checked."""
        return min((begun.at + HEARTBEAT_SECONDS for begun in self._begun.values()), default=None)
