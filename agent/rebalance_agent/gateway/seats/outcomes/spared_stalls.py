"""Computes lower bounds on how much earlier the partitions of killed consumers got new owners because of seats.

The coordinator removes a killed member when its session ends, or when a rebalance ends in which the member did not
rejoin. Until then no other member gets the killed member's partitions. This time is avoided if the gateway removes the
member earlier, or gives the seat to a successor, unless the consumer was alive. Whether it was alive is known only
after its session would have ended.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HEARD_LATE_SECONDS", "STALLS_MAX", "KilledMember", "SparedStall", "SparedStalls"]

STALLS_MAX = 1_000
"""Maximum number of undecided stalls of a group: as many as the group has seats. Further stalls are not counted."""

HEARD_LATE_SECONDS = 1.0
"""Longest time (seconds) between the start of a session for the coordinator (when a request arrives) and for the
gateway (when the answer arrives)."""


@dataclass(frozen=True, slots=True)
class KilledMember:
    """A member whose process seems to be gone.

    ``heard_at``: when the coordinator accepted the member's last request, in seconds of the caller's clock.
    ``rebalance_seconds``: the longest time for which a rebalance waits for the member.
    """

    member_id: str
    partitions: int
    heard_at: float
    session_seconds: float
    rebalance_seconds: float

    @property
    def session_end(self) -> float:
        """The time by which the coordinator has removed the member in any case."""
        return self.heard_at + self.session_seconds


@dataclass(frozen=True, slots=True)
class SparedStall:
    """A stall that was ended early. ``heir``: the successor that took the seat, empty if the seat was given up."""

    killed: KilledMember
    heir: str
    partition_seconds: float


class SparedStalls:
    """The stalls of one group's killed members that were ended early, until each is confirmed or dropped."""

    def __init__(self) -> None:
        """Start without stalls."""
        self._stalls: dict[str, SparedStall] = {}

    def ended(self, killed: KilledMember, now: float, heir: str = "") -> None:
        """Record the end of a stall: in a stable group, a killed member's partitions have become free ``now``.

        Even a rebalance that began ``now`` would have waited for the killed member at most for its rebalance timeout.
        """
        spared_seconds = min(killed.session_end - HEARD_LATE_SECONDS - now, killed.rebalance_seconds)
        if spared_seconds > 0 and len(self._stalls) < STALLS_MAX:
            self._stalls[killed.member_id] = SparedStall(killed, heir, killed.partitions * spared_seconds)

    def alive(self, member_id: str) -> SparedStall | None:
        """Drop and return the stall of a member that sends requests: it may have continued with its partitions."""
        return self._stalls.pop(member_id, None)

    def handover_wrong(self, heir: str) -> None:
        """Drop the stall that a handover ended, since the group rebalanced after it."""
        for member_id in [member_id for member_id, stall in self._stalls.items() if stall.heir == heir]:
            del self._stalls[member_id]

    def known(self, now: float) -> list[SparedStall]:
        """Return the stalls that are known by ``now`` to have been avoided; call this at `next_due`."""
        known = [stall for stall in self._stalls.values() if stall.killed.session_end <= now]
        for stall in known:
            del self._stalls[stall.killed.member_id]
        return known

    def next_due(self) -> float | None:
        """Return when to call `known` next; None if no stall is undecided."""
        return min((stall.killed.session_end for stall in self._stalls.values()), default=None)
