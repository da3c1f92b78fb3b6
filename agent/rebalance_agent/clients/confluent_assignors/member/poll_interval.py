"""Whether the application polls often enough: ``max.poll.interval.ms`` (KIP-62) by the application's own polls."""

from __future__ import annotations

from types import TracebackType

from rebalance_agent.clock import Clock

__all__ = ["PollInterval"]


class PollInterval:
    """A context manager around every poll. Who is inside polls; outside, the time runs."""

    def __init__(self, interval_ms: int, clock: Clock) -> None:
        """Allow ``interval_ms`` between polls."""
        self.interval_ms = interval_ms
        self._clock = clock
        self._inside = 0
        self._left = clock.monotonic()

    def __enter__(self) -> None:
        self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A callback that polls, or commits, is inside already.
        self._left = self._clock.monotonic()
        self._inside -= 1

    def touch(self) -> None:
        """Begin to count now."""
        self._left = self._clock.monotonic()

    @property
    def remaining_seconds(self) -> float:
        """How long the application may still stay away; negative when it is late."""
        away = 0.0 if self._inside else self._clock.monotonic() - self._left
        return self.interval_ms / 1000 - away

    @property
    def exceeded(self) -> bool:
        """Whether the application is late."""
        return self.remaining_seconds < 0
