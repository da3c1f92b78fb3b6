"""Measures how long a callback, or leaving the group, takes, and reports it as one event."""

from __future__ import annotations

from types import TracebackType

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.event_builder import EventBuilder, HasTopicPartition
from rebalance_agent.instrumentation.membership import Membership
from rebalance_agent.model.events import Callback

__all__ = ["TimedCallback"]


class TimedCallback:
    """A context manager around a callback, or around leaving the group. Exceptions are reported and raised again.

    The event contains the generation at the start of the block, since a failed commit inside the block may end the
    membership.
    """

    def __init__(
        self, builder: EventBuilder | None, clock: Clock, callback: Callback, partitions: tuple[HasTopicPartition, ...]
    ) -> None:
        """Report to ``builder``; if ``builder`` is None, report no event."""
        self._builder = builder
        self._clock = clock
        self._callback = callback
        self._partitions = partitions
        self._membership = Membership()
        self._started_ms = 0
        self._start = 0.0

    def __enter__(self) -> None:
        if self._builder:
            self._membership = self._builder.membership()
            self._builder.callback_starts(self._callback, self._partitions)
        self._started_ms = self._clock.now_ms()
        self._start = self._clock.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._builder:
            # Take the duration from the monotonic clock, since the wall clock may be adjusted during the block.
            ended_ms = self._started_ms + round((self._clock.monotonic() - self._start) * 1000)
            self._builder.callback_ended(
                self._callback, self._partitions, self._membership, self._started_ms, ended_ms, error
            )
