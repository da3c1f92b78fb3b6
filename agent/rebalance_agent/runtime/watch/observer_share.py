"""What makes an observer one of several, and its successor of one that was: ownership and snapshots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic.ownership import OWNERSHIP_PART, FullOwnership, SharedOwnership
from rebalance_agent.offsets_topic.snapshots.coverage import Coverage
from rebalance_agent.offsets_topic.snapshots.snapshot_schedule import PublishProgress, SnapshotSchedule
from rebalance_agent.offsets_topic.snapshots.store import SnapshotStore
from rebalance_agent.runtime.settings.roles import ObserverSettings

__all__ = ["ObserverShare", "fleet_parts"]

JOIN_S = 2.0
"""Longest wait at stop for the thread of the membership: it looks several times a second, and then says goodbye."""


def fleet_parts(settings: ObserverSettings) -> tuple[str, ...]:
    """What readiness waits for besides."""
    return (OWNERSHIP_PART,) if settings.replicas_group else ()


class ObserverShare:
    """``ownership``, ``store`` (None where nothing is kept) and ``whole`` are for the tail, ``context`` for all others.

    ``context`` shows only the groups that are owned, so that each is reported by one replica. The tail shows all that
    its partitions have: nothing may be missing where one goes and comes back in a moment.
    """

    def __init__(
        self,
        context: CollectorContext,
        settings: ObserverSettings,
        progress: PublishProgress | None,
        written: Callable[[int, int], None],
    ) -> None:
        """``progress`` of the events that are published, ``written`` as in `SnapshotStore`."""
        group, filters = settings.replicas_group, f"groups {settings.groups_allow!r} without {settings.groups_deny!r}"
        self.ownership = (
            SharedOwnership(context.properties, OFFSETS_TOPIC, group, context.health, self._stored)
            if group
            else FullOwnership()
        )
        self.whole = context
        shows, owns = context.shows, self.ownership.owns
        self.context = replace(context, shows=lambda name: shows(name) and owns(name)) if group else context
        self.store = (
            SnapshotStore(context, settings.state_topic, group, filters, written=written)
            if settings.state_topic
            else None
        )
        self._progress = progress
        self._clock = context.clock
        self._keeper: SnapshotSchedule | None = None

    def keep(self, unsettled: Callable[[str], bool]) -> SnapshotSchedule | None:
        """What decides when snapshots are written, of a tracker that says which groups are ``unsettled``."""
        if self.store is not None:
            self._keeper = SnapshotSchedule(self.store, Coverage(unsettled), self._progress, self._clock)
        return self._keeper

    @property
    def listeners(self) -> tuple[Callable[[Mapping[str, int]], None], ...]:
        """What is to be told of partition counts of topics."""
        return (self.store.on_topics,) if self.store else ()

    def _stored(self, partitions: Collection[int]) -> bool:
        return self.store is None or self.store.stored(partitions)

    def start(self) -> None:
        """Join the other replicas."""
        if isinstance(self.ownership, SharedOwnership):
            self.ownership.worker.start()

    def close(self, timeout: float, *, whole: bool) -> None:
        """Write the last snapshot, ``timeout`` seconds at most, and leave the other replicas.

        ``whole``: the tracker's thread has ended, and the events are sent as far as they will be.
        """
        if self._keeper and whole:
            self._keeper.end(self.ownership.partitions() or frozenset())
        if self.store:
            self.store.close(timeout)
        # Only now: whoever takes over what was still ours begins with that snapshot.
        if isinstance(self.ownership, SharedOwnership):
            self.ownership.worker.stop()
            self.ownership.worker.join(JOIN_S)
