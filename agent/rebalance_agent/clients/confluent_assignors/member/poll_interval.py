"""Applies ``max.poll.interval.ms`` (KIP-62) to the application's own polls."""

from __future__ import annotations

from rebalance_agent.clock import Clock

__all__ = ["PollInterval"]


class PollInterval:
    """A context manager around every poll, which measures the time between polls."""

    def __init__(self, interval_ms: int, clock: Clock) -> None:
        """Allow ``interval_ms`` between polls."""
        self.interval_ms = interval_ms
        self._clock = clock
        self._inside = 0
        self._last_poll = clock.monotonic()

    def __enter__(self) -> None:
        self._inside += 1

    def __exit__(self, *_raised: object) -> None:
        # Reentrant: a callback may poll or commit.
        self._last_poll = self._clock.monotonic()
        self._inside -= 1

    def touch(self) -> None:
        """Restart the measurement."""
        self._last_poll = self._clock.monotonic()

    @property
    def remaining_seconds(self) -> float:
        """Time until the next poll is due; negative if it is overdue."""
        elapsed = 0.0 if self._inside else self._clock.monotonic() - self._last_poll
        return self.interval_ms / 1000 - elapsed

    @property
    def exceeded(self) -> bool:
        """Whether the next poll is overdue."""
        return self.remaining_seconds < 0
