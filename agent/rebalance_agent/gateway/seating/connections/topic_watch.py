"""Detects new partitions of a group's topics, for leaders that returned to their seat with a JoinGroup below v9.

Such a client considers itself a follower, but only leaders detect new partitions. The gateway compares the assigned
partitions with the topics' partitions, so it needs no state of its own.
"""

from __future__ import annotations

from rebalance_agent.gateway.seating.connections.coordinator_requests import assigned_counts, partition_counts
from rebalance_agent.gateway.seating.connections.group_connections import GroupConnections
from rebalance_agent.gateway.seats.rules.eligibility import SKIP_ASSIGNMENT_VERSION
from rebalance_agent.gateway.seats.seat import SeatState, SeatTable

__all__ = ["WATCH_SECONDS", "TopicWatch"]

WATCH_SECONDS = 30.0
"""Seconds between checks; leading clients check every five minutes by default (metadata.max.age.ms)."""


class TopicWatch:
    """Checks the topics of one group for changes, every `WATCH_SECONDS`."""

    def __init__(self, group: str, table: SeatTable, connections: GroupConnections) -> None:
        """Start without a check."""
        self._group, self._table, self._connections = group, table, connections
        self._next_at = float("-inf")

    @property
    def needed(self) -> bool:
        """Whether a leader of the group would not detect new partitions."""
        return any(
            seat.returned and seat.leads and seat.version < SKIP_ASSIGNMENT_VERSION and seat.state is SeatState.OCCUPIED
            for seat in self._table
        )

    def due(self, now: float) -> bool:
        """Whether to check now; the next check is `WATCH_SECONDS` later."""
        if now < self._next_at or not self.needed:
            return False
        self._next_at = now + WATCH_SECONDS
        return True

    def next_due(self) -> float | None:
        """Return the time of the next call of `due`; None if the topics need no check."""
        return self._next_at if self.needed else None

    async def changed(self) -> bool:
        """Ask the brokers; return whether a topic's partition count differs from its assigned partitions."""
        assigned = await self._connections.ask(lambda ask: assigned_counts(ask, self._group))
        if not assigned:
            return False
        now = await self._connections.ask(lambda ask: partition_counts(ask, assigned))
        return now is not None and any(number != assigned[topic] for topic, number in now.items() if topic in assigned)
