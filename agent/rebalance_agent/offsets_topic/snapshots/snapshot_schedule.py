"""Decides when a snapshot is due, and holds it back until the events that it covers are published."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from rebalance_agent.clock import Clock
from rebalance_agent.model.events import Event
from rebalance_agent.offsets_topic.snapshots.coverage import Coverage
from rebalance_agent.offsets_topic.snapshots.store import SnapshotStore
from rebalance_agent.tracking.observations import Backfilled, Observation, PartitionsOwned, TailReached

__all__ = ["EVERY_S", "PublishProgress", "SnapshotSchedule"]

EVERY_S = 5.0
"""Seconds between snapshots: a restart reads about this time's records again, besides unsettled rebalances."""


class PublishProgress(Protocol):
    """The progress of the publisher of events (see `Publisher`)."""

    @property
    def queued(self) -> int:
        """The number of messages ever queued."""
        ...

    @property
    def completed(self) -> int:
        """The number of leading messages that are all acknowledged or abandoned."""
        ...


class SnapshotSchedule:
    """Processes the tracker's events, and every observation after the tracker. Used by the tracker's thread."""

    def __init__(
        self, store: SnapshotStore, coverage: Coverage, progress: PublishProgress | None, clock: Clock
    ) -> None:
        """``progress``: the progress of publishing events; None if no events are published."""
        self._store = store
        self._coverage = coverage
        self._progress = progress
        self._clock = clock
        self._begun = float("-inf")
        self._waiting: tuple[int, dict[int, int]] | None = None
        self._last: Mapping[int, int] = {}

    def on_event(self, event: Event) -> None:
        """Process an event of the tracker, which is already queued for publishing."""
        self._coverage.event(event)

    def on_observation(self, observation: Observation) -> None:
        """Process an observation that the tracker has processed; its events are queued for publishing already."""
        self._coverage.observed(observation)
        if isinstance(observation, PartitionsOwned):
            self._coverage.drop(observation.partitions)
        elif isinstance(observation, Backfilled):
            self._begun = float("-inf")  # there is more to cover than before
        elif isinstance(observation, TailReached):
            self._reached(observation.positions)

    def end(self, owned: Collection[int]) -> None:
        """Write the last snapshot, which covers all records whose events are published by now.

        ``owned``: the partitions that are still owned. The new owner of any other partition may have written a newer
        snapshot.
        """
        self._store.serve()
        if self._progress is None or self._progress.completed >= self._progress.queued:
            self._waiting = (0, self._coverage.covered(self._last))
        if self._waiting is not None:
            queued, covered = self._waiting
            self._waiting = (queued, {number: position for number, position in covered.items() if number in owned})
        self._cover_if_published()

    def _reached(self, positions: Mapping[int, int]) -> None:
        self._last = positions
        self._store.serve()
        now = self._clock.monotonic()
        if self._waiting is None and now - self._begun >= EVERY_S:
            self._begun = now
            self._waiting = (self._progress.queued if self._progress else 0, self._coverage.covered(positions))
        self._cover_if_published()

    def _cover_if_published(self) -> None:
        if self._waiting is not None:
            queued, covered = self._waiting
            if self._progress is None or self._progress.completed >= queued:
                self._waiting = None
                self._store.cover(covered)
