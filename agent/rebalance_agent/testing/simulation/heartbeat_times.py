"""When a member sends heartbeats and polls: worked out, not simulated, so that a group at rest costs nothing."""

from __future__ import annotations

from rebalance_agent.testing.simulation.script import SimulatedMember

__all__ = ["HeartbeatTimes"]


class HeartbeatTimes:
    """Heartbeats at every interval since it joined; polls at every end of processing since its last callback."""

    def __init__(self, spec: SimulatedMember) -> None:
        """As ``spec`` says, from time zero."""
        self._interval_ms = spec.heartbeat_interval_ms
        self._processing_ms = spec.processing_ms
        self._beats_since_ms = 0
        self.polls_since_ms = 0

    def beats_from(self, now_ms: int) -> None:
        """The coordinator has just heard of it."""
        self._beats_since_ms = now_ms

    def polls_from(self, now_ms: int) -> None:
        """It polls now, and processes what it gets."""
        self.polls_since_ms = now_ms

    def next_beat_ms(self, now_ms: int) -> int:
        """When the next heartbeat is."""
        intervals = -(-(now_ms - self._beats_since_ms) // self._interval_ms)
        return self._beats_since_ms + max(1, intervals) * self._interval_ms

    def last_beat_ms(self, now_ms: int) -> int:
        """When the coordinator heard of it last."""
        return now_ms - (now_ms - self._beats_since_ms) % self._interval_ms

    def next_poll_ms(self, now_ms: int) -> int:
        """When it polls next: now, if it does not process anything."""
        return now_ms + (-(now_ms - self.polls_since_ms) % self._processing_ms if self._processing_ms else 0)
