"""Computes the times of a member's heartbeats and polls, which are not simulated one by one to save time."""

from __future__ import annotations

from rebalance_agent.testing.simulation.script import SimulatedMember

__all__ = ["HeartbeatTimes"]


class HeartbeatTimes:
    """The times of heartbeats, at a fixed interval since the last rebalance, and of polls, at each processing time."""

    def __init__(self, spec: SimulatedMember) -> None:
        """Use the intervals of ``spec``, starting at time zero."""
        self._interval_ms = spec.heartbeat_interval_ms
        self._processing_ms = spec.processing_ms
        self.beats_since_ms = 0
        self.polls_since_ms = 0

    def next_beat_ms(self, now_ms: int) -> int:
        """Return the time of the next heartbeat, at ``now_ms`` or later."""
        intervals = -(-(now_ms - self.beats_since_ms) // self._interval_ms)
        return self.beats_since_ms + max(1, intervals) * self._interval_ms

    def last_beat_ms(self, now_ms: int) -> int:
        """Return the time of the last heartbeat up to ``now_ms``."""
        return now_ms - (now_ms - self.beats_since_ms) % self._interval_ms

    def next_poll_ms(self, now_ms: int) -> int:
        """Return the time of the next poll, which is ``now_ms`` for a member without processing time."""
        return now_ms + (-(now_ms - self.polls_since_ms) % self._processing_ms if self._processing_ms else 0)
