"""The state machine of one consumer, share or streams group, whose coordinator assigns and records each step.

A rebalance lasts from the record of a new group epoch to the record that shows that the last member has reached this
epoch. An epoch that all members have reached is then treated like a generation of a classic group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochMember, GroupEpoch, TargetEpoch
from rebalance_agent.model.events import Event, MemberEvent
from rebalance_agent.model.generation_diff import Partition, diff_generations, owners
from rebalance_agent.model.group import GroupSnapshot, GroupType
from rebalance_agent.tracking.build_view import keeps_base_view
from rebalance_agent.tracking.cluster_topics import PartitionCount
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.epoch.assignor_wait import AssignorWait
from rebalance_agent.tracking.epoch.buffered_records import BufferedRecords
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.epoch.member_evidence import MemberEvidence
from rebalance_agent.tracking.epoch.owner_changes import OwnerChanges
from rebalance_agent.tracking.epoch.pending_members import pending_members
from rebalance_agent.tracking.epoch.recorded_group import RecordedGroup
from rebalance_agent.tracking.epoch.surely_kept import surely_kept
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.rebalance.episodes.group_episodes import REVISE_MAX_MS
from rebalance_agent.tracking.tracked_group import TrackedGroup
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, RunningRebalance

__all__ = ["EpochState"]


class EpochState(TrackedGroup):
    """The state of one group whose coordinator computes the assignment. Times passed in are by the observer's clock."""

    def __init__(
        self,
        group: str,
        group_type: GroupType,
        partition: int,
        context: TrackerContext,
        now_ms: int,
        predecessor: TrackedGroup | None = None,
    ) -> None:
        """Start without records; there is no view until all records of the group have been read.

        ``partition``: the group's partition of the offsets topic. ``predecessor``: the state of the group as another
        type, if the group migrated.
        """
        super().__init__(group, context, now_ms, predecessor)
        self.group_type = group_type
        self.last = predecessor.last if predecessor else None
        self.partition = partition
        self._has_predecessor = predecessor is not None
        self._predecessor_known = predecessor is not None and predecessor.known
        self._migration_number: int | None = None
        self._records = EpochGroupRecords()
        self._recorded = RecordedGroup(group, group_type, self._records, context.topics)
        self._owner_changes = OwnerChanges(self.history.doubly_owned, self._records, self._recorded)
        self._evidence = MemberEvidence(group, group_type, partition, context, self._records, self._recorded)
        self._backfilled = False
        self._created_live = False
        self._started_ms: int | None = None
        self._targets_ms: tuple[int, int] | None = None  # the first and the latest target assignment since the start
        self._seen_ms = now_ms
        self._replayed = self._returning = self._amid_batch = self._after_gap = self._peopled = False
        self._skipped = False
        self._described = set[str]()  # members with a member record since the last complete epoch
        self._partition_count = PartitionCount()
        self._buffered = BufferedRecords()
        self._assignor_wait = AssignorWait()

    @property
    def buffered(self) -> tuple[EpochRecord, ...]:
        """All records of the group if it was created during the backfill; otherwise no records."""
        return () if self._has_predecessor else self._buffered.records

    @property
    def known(self) -> bool:
        """Whether the group exists and all its records were read."""
        return self._backfilled and (
            self._records.epoch is not None or self._predecessor_known or self.deletion is not None
        )

    @property
    def rebalancing(self) -> bool:
        """Always False: records show the start of these rebalances, so polls are not needed."""
        return False

    @property
    def unsettled(self) -> bool:
        """Whether records of the group may still lead to events."""
        # When a static member returns, its assignment is compared with the state before it left. An observer that
        # starts from here would not have that state.
        running = self._started_ms is not None or self._amid_batch or not self._records.reached or self._records.away
        return self._episodes.unsettled or self.deletion is not None or (self._backfilled and running)

    def wants(self, topics: set[str]) -> bool:
        """Whether a change of ``topics`` affects the group: it subscribes to one of them or has an unnamed topic id."""
        return self._unnamed or not topics.isdisjoint(
            self._records.topics | self._records.named_topics(self._context.topics)
        )

    def record(self, record: EpochRecord) -> Iterator[Event]:
        """Process a record of this group."""
        if not self._backfilled:
            self._buffered.add(record)
        old = self._records.current(record.subject) if record.kind is CurrentAssignment else None
        created = self._records.epoch is None
        after_gap = self._after_gap or self._may_miss_records(record)
        if not self._records.take(record):
            return
        self._seen_ms = record.seen_ms
        # A live record is the latest one, whatever its timestamp.
        self.timestamp_ms = record.timestamp_ms if record.live else max(self.timestamp_ms, record.timestamp_ms)
        self._replayed = record.replayed
        self._after_gap, self._skipped = after_gap, self._skipped or record.skipped > 0
        continuous = self._backfilled and not (after_gap or record.replayed)
        self.history.own_doubly(self._owner_changes.take(record, old, continuous=continuous))
        if record.kind is GroupEpoch:
            self._take_epoch(record, created=created)
        elif record.kind is TargetEpoch:
            self._targets_ms = ((self._targets_ms or (record.timestamp_ms,))[0], record.timestamp_ms)
            self._assignor_wait.update(record.timestamp_ms, self._records.epoch, self._records.target_epoch)
        elif isinstance(record.value, EpochMember):
            self._peopled = True
            self._described.add(record.subject)
            self._returning = self._returning or record.value.instance_id is not None
        elif record.kind is CurrentAssignment:
            self._evidence.take(record, old, self._started_ms)
        if not keeps_base_view(old, self._records.current(record.subject), record):
            self._change_base_view()
        # A tombstone is never the last record of a batch: a new epoch, a static member's successor, or the group's
        # tombstone follows.
        self._amid_batch = record.value is None
        if not self._amid_batch:
            yield from self._check_reached(record.seen_ms, live=record.live)
        elif not self._records.dissolving:
            self._update_counts(record.seen_ms)

    def complete(self, now_ms: int) -> None:
        """Process the end of the backfill: all records of the group have been read."""
        if self._backfilled:
            return
        self._backfilled, self._buffered = True, BufferedRecords()
        self._change_base_view()
        for _ in self._check_reached(now_ms, live=False):
            pass  # the state before the observer started leads to no events

    def resize(self, now_ms: int) -> None:
        """Process a change of the cluster's topics: partition counts, or names of topic ids."""
        self._change_base_view()
        self._evidence.first_commits.rename(self._context.topics.name)  # the commits of the incomplete epoch
        self._name_topics(now_ms)
        self._update_counts(now_ms)

    def pass_time(self, now_ms: int) -> Iterator[Event]:
        """Do the work that is due by ``now_ms``."""
        showing = self._episodes.showing
        yield from self._episodes.pass_time(now_ms)
        if showing != self._episodes.showing:
            self._update_counts(now_ms)
        if self._clean_up(self._records.members, now_ms):
            self._records.keep(self.timestamp_ms - REVISE_MAX_MS)

    def view(self, *, judged: bool = True) -> GroupView | None:
        """Return the current view; None until all records have been read. ``judged``: as in `Tracker.view`."""
        if not self.known:
            return None
        if self.history.view and self._records.epoch is None:
            return self.history.view  # the last view, before the first epoch record or after the group's tombstone
        return self._current_view(partial(self._build_view, judged=judged), judged=judged)

    def _take_epoch(self, record: EpochRecord, *, created: bool) -> None:
        self._assignor_wait.update(record.timestamp_ms, self._records.epoch, self._records.target_epoch)
        if not isinstance(record.value, GroupEpoch):
            self._tombstone(record.timestamp_ms, record.seen_ms, live=record.live and self._backfilled)
            return
        if self._predecessor_known and created and self.last and self.last.members:
            self._migration_number = record.value.epoch
        self.number = record.value.epoch
        # This is the first epoch of a group that was created while the observer ran.
        self._created_live = self._created_live or (record.live and self._backfilled and created)
        if record.live and self._started_ms is None:
            self._started_ms = record.timestamp_ms
            self._assignor_wait.begin(record.timestamp_ms)

    def _check_reached(self, now_ms: int, *, live: bool) -> Iterator[Event]:
        """Check after a record whether all members have reached the newest epoch."""
        last = self.last
        if not self._backfilled or self._records.epoch is None or self._records.dissolving:
            return
        if self._records.reached:
            # The first epoch after a migration only repeats the state before it.
            already_complete = last is not None and self.number in (last.number, self._migration_number)
            returned = already_complete and last is not None and self._returning and self._replaced(last.value)
            self._returning = False
            if not already_complete or returned:
                yield from self._complete_epoch(now_ms, live=live, returned=returned)
        self._update_counts(now_ms)

    def _replaced(self, last: GroupSnapshot) -> bool:
        """Whether static members returned under new ids, and nothing else changed."""
        diff = diff_generations(last, self._recorded.snapshot(self.timestamp_ms))
        return bool(diff.replaced) and not diff.joined and not diff.gone

    def _complete_epoch(self, now_ms: int, *, live: bool, returned: bool) -> Iterator[Event]:
        before, reached = self.last, self._recorded.generation(self.timestamp_ms, now_ms)
        if recreated := before is not None and before.group_type is self.group_type and reached.number < before.number:
            if live:
                yield from self._episodes.flush(now_ms)
            before = None
        handovers, took = self._evidence.handovers.take(self._records.held_for_absent)
        last_seen, departures = self._evidence.last_seen.take()
        started_ms = self._started_ms
        restarting = frozenset[str]() if returned or started_ms is None else self._records.eager
        for name in sorted(restarting):
            handovers = self._recorded.restarts(name, started_ms, self._evidence.last_seen.contact_ms(name)) | handovers
        targets_ms = None if started_ms is None or not reached.value.members else self._targets_ms
        kept = self._surely_kept(before)
        unnamed = self._records.unnamed({key for key, _ in handovers}, self._context.topics)
        generation = replace(
            reached,
            start=None if started_ms is None else TimeBounds(started_ms, started_ms, Evidence.RECORD),
            targeted_ms=targets_ms and targets_ms[0],
            joined_ms=targets_ms and targets_ms[1],
            assignor_wait_seconds=None if targets_ms is None else self._assignor_wait.seconds,
            returned=returned,
            incomplete=self._after_gap and not _nothing_moved(before, reached, kept),
            surely_kept=kept,
            handovers=self._recorded.by_topic_name(handovers),
            revoking_ms=took,
            replayed=self._replayed,
            last_seen=last_seen,
            departures=departures,
            restarting=restarting,
            coordinator_changes=self._context.coordinators.changes(self.partition),
            outages=self._context.outages_until(now_ms),
            first_commits=self._evidence.complete(reached.members if live else (), self.timestamp_ms, started_ms),
            patterns=self._records.patterns,
            metadata=self._records.metadata,
            # Tasks of streams groups refer to topics by the names in the topology.
            unnamed=frozenset() if self.group_type is GroupType.STREAMS else unnamed,
        )
        self.history.empty_time.see(generation)
        missing = self._after_gap and (before is None or generation.number > before.number + 1)
        self.last, self._started_ms, self._targets_ms = generation, None, None
        self._after_gap = self._skipped = False
        self._described.clear()
        # Members may have joined and left without any assignment.
        peopled = self._peopled or bool(before and before.members)
        self._peopled = bool(reached.value.members)
        if live and peopled:
            known = not missing and (before is not None or recreated or self._created_live)
            yield from self._episodes.add(generation, Episode(before, known))

    def _surely_kept(self, before: Generation | None) -> frozenset[Partition]:
        """Return the partitions that certainly stayed with their owners although records may have been removed unread.

        After skipped records the result is empty, because not even the latest record of each key was read.
        """
        if before is None or not self._after_gap or self._skipped:
            return frozenset()
        return surely_kept(before, self._records, self._recorded, self._described)

    def _take_report(self, _event: MemberEvent, now_ms: int, *, begins: bool) -> None:
        if begins:
            self._update_counts(now_ms)

    @property
    def _stalled(self) -> int:
        return self._records.backlog.waiting if self._started_ms is not None and not self._records.unread else 0

    def _update_counts(self, now_ms: int) -> None:
        """Update the view's version and the counts of subscribed and stalled partitions."""
        partitions = (
            self._partition_count.count(self._records.topics, self._context.topics) if self._records.members else 0
        )
        self._totals.set_partitions(partitions, now_ms)
        self._totals.set_stalled(self._stalled, now_ms)
        self.history.version += 1

    def _build_view(self, *, judged: bool) -> GroupView:
        state, started_ms = self._recorded.state(self.number), self._started_ms
        generation = partial(self._recorded.generation, self.timestamp_ms, self._seen_ms)
        base_view = self._build_base_view(generation, lambda: self._recorded.members, state, judged=judged)
        running: RunningRebalance | None = None
        if started_ms is not None and self._records.members:
            running = RunningRebalance(started_ms, self._stalled, pending=pending_members(self._records))
        return self.history.complete_view(base_view, state, running)


def _nothing_moved(before: Generation | None, after: Generation, kept: frozenset[Partition]) -> bool:
    return before is not None and owners(before.value).keys() == owners(after.value).keys() == kept
