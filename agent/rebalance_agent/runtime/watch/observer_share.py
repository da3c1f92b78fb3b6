"""The part of an observer that depends on other observers: the groups to report, and snapshots to resume from."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.offsets_topic.ownership import OWNERSHIP_PART, Ownership, SharedOwnership
from rebalance_agent.offsets_topic.snapshots.coverage import Coverage
from rebalance_agent.offsets_topic.snapshots.snapshot_schedule import PublishProgress, SnapshotSchedule
from rebalance_agent.offsets_topic.snapshots.store import SnapshotStore
from rebalance_agent.runtime.settings.roles import ObserverSettings

__all__ = ["ObserverShare", "share_parts"]

JOIN_S = 2.0
"""Longest wait for the membership's thread at stop, in seconds: the thread checks its stop signal often."""


def share_parts(settings: ObserverSettings) -> tuple[str, ...]:
    """Return the readiness parts of replicas that share groups."""
    return (OWNERSHIP_PART,) if settings.replicas_group else ()


class ObserverShare:
    """Manages the ownership of partitions, and the snapshots of the owned partitions.

    ``context`` shows only groups of owned partitions, so that one replica reports each group. ``tail_context``, for the
    tail, shows all groups of the tail's partitions: no record may be missing when a partition is lost and soon gained
    again. ``store`` is None if no snapshots are kept.
    """

    def __init__(self, context: CollectorContext, settings: ObserverSettings, progress: PublishProgress | None) -> None:
        """``progress`` is the progress of publishing events, None if no events are published."""
        group, filters = settings.replicas_group, f"groups {settings.groups_allow!r} without {settings.groups_deny!r}"
        self.ownership = (
            SharedOwnership(context.properties, group, context.health, self._stored) if group else Ownership()
        )
        self.tail_context = context
        shows, owns = context.shows, self.ownership.owns
        self.context = replace(context, shows=lambda name: shows(name) and owns(name)) if group else context
        self.store = SnapshotStore(context, topic, group, filters) if (topic := settings.snapshots_topic) else None
        self._progress = progress
        self._snapshots: tuple[SnapshotSchedule, ...] = ()

    def snapshot_schedule(self, unsettled: Callable[[str], bool]) -> tuple[SnapshotSchedule, ...]:
        """Return the schedule if snapshots are kept; ``unsettled`` returns whether a group has events to come."""
        if self.store is not None:
            coverage = Coverage(unsettled)
            self._snapshots = (SnapshotSchedule(self.store, coverage, self._progress, self.context.clock),)
        return self._snapshots

    def _stored(self, partitions: Collection[int]) -> bool:
        return self.store is None or self.store.stored(partitions)

    def start(self) -> None:
        """Join the group of replicas."""
        if isinstance(self.ownership, SharedOwnership):
            self.ownership.worker.start()

    def close(self, timeout: float, *, complete: bool) -> None:
        """Write the last snapshot in at most ``timeout`` seconds, and leave the group of replicas.

        ``complete``: whether the tracker's thread has ended, after which the sinks have sent the events that they
        could.
        """
        for schedule in self._snapshots if complete else ():
            schedule.end(self.ownership.partitions() or frozenset())
        if self.store:
            self.store.close(timeout)
        # Leave only now: the next owner of these partitions resumes from the last snapshot.
        if isinstance(self.ownership, SharedOwnership):
            self.ownership.worker.stop()
            self.ownership.worker.join(JOIN_S)
