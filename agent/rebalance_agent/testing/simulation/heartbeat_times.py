"""Computes the times of a member's heartbeats and polls. They are not simulated one by one: a stable group is free."""

from __future__ import annotations

from rebalance_agent.testing.simulation.script import SimulatedMember

__all__ = ["HeartbeatTimes"]


class HeartbeatTimes:
    """Heartbeats at a fixed interval since the last join; polls after each processing time since the last callback."""

    def __init__(self, spec: SimulatedMember) -> None:
        """Intervals of ``spec``, starting at time zero."""
        self._interval_ms = spec.heartbeat_interval_ms
        self._processing_ms = spec.processing_ms
        self.beats_since_ms = 0
        self.polls_since_ms = 0

    def next_beat_ms(self, now_ms: int) -> int:
        """Time of the next heartbeat, at ``now_ms`` or later."""
        intervals = -(-(now_ms - self.beats_since_ms) // self._interval_ms)
        return self.beats_since_ms + max(1, intervals) * self._interval_ms

    def last_beat_ms(self, now_ms: int) -> int:
        """Time of the last heartbeat up to ``now_ms``."""
        return now_ms - (now_ms - self.beats_since_ms) % self._interval_ms

    def next_poll_ms(self, now_ms: int) -> int:
        """Time of the next poll: ``now_ms`` for a member without processing time."""
        return now_ms + (-(now_ms - self.polls_since_ms) % self._processing_ms if self._processing_ms else 0)
