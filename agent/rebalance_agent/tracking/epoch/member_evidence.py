"""Derives handovers, last contacts and first commits from the current assignments and commits of a group's members."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.model.epoch_groups import CurrentAssignment
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType, Member
from rebalance_agent.model.partitions import TopicPartitions, beyond, pairs
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.epoch.handovers import Handovers
from rebalance_agent.tracking.epoch.recorded_group import RecordedGroup
from rebalance_agent.tracking.evidence.known_times import FirstCommits
from rebalance_agent.tracking.evidence.last_seen import SESSION_TIMEOUT_MS, EpochLastSeen, sends_heartbeats
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.tracker_context import TrackerContext

__all__ = ["MemberEvidence"]


class MemberEvidence:
    """The evidence about one group's members since its last complete epoch.

    Times are the records' timestamps (epoch ms).

    ``first_commits``: the first commits of the epoch that is not complete yet.
    """

    def __init__(
        self,
        group: str,
        group_type: GroupType,
        partition: int,
        context: TrackerContext,
        records: EpochGroupRecords,
        recorded: RecordedGroup,
    ) -> None:
        """``partition``: the group's partition of the offsets topic.

        ``records``, ``recorded``: the group's records and what they show; both change with each record.
        """
        self.handovers, self.last_seen, self.first_commits = Handovers(), EpochLastSeen(), FirstCommits()
        self._group, self._partition, self._context = group, partition, context
        self._shared = group_type is GroupType.SHARE
        self._records, self._recorded = records, recorded

    def take(self, record: EpochRecord, old: CurrentAssignment | None, started_ms: int | None) -> None:
        """Process a member's new current assignment, or its removal; ``old`` is the previous assignment.

        ``started_ms``: when the running rebalance started; None if no rebalance runs.
        """
        name, at_ms, contact_ms = record.subject, record.timestamp_ms, self.last_seen.contact_ms(record.subject)
        new, commits = self._records.current(name), self._context.commits
        departs = old is not None and (new is None or new.epoch < 0 <= old.epoch)
        # Most assignments are unchanged; only changed topics cost more than a comparison.
        released = beyond(old.held, new.assigned) if old and new else {}
        gives_up = record.live and old is not None and (departs or bool(released))
        unheard = record.live and self._unheard(name, at_ms if started_ms is None else started_ms)
        had = self._recorded.named(old.held) if (gives_up or unheard) and old else set()
        worked_ms = commits.worked_ms(self._group, had, contact_ms or 0, at_ms) if had else None
        member = self._records.members.get(name)
        changes = self._context.coordinators.changes(self._partition) if departs else ()
        expelled = old is not None and new is None and self.last_seen.expelled(member, name, old, at_ms, changes)
        if record.live:
            active_ms = contact_ms if worked_ms is None and sends_heartbeats(member) else worked_ms
            self.handovers.update(
                name,
                old,
                new,
                at_ms,
                revocation_recorded=not self._records.uses_classic_protocol(name),
                held=self._records.backlog.owned,
                expelled=expelled,
                active_ms=active_ms,
                consumed_ms=self._consumed_ms,
            )
        if new is not None:
            self.last_seen.update(name, new, at_ms)
            if record.live:
                kept: TopicPartitions = old.assigned if old and not self._records.is_eager(name) else {}
                given = self._recorded.named(beyond(new.assigned, kept))
                commits.expect(self._group, given, at_ms, self.first_commits)
        if gives_up and old:
            commits.release(self._group, self._recorded.named(released) if new else had, at_ms)
            if departs:
                recent = commits.recent(self._group, had, contact_ms or 0, at_ms)
                self.last_seen.depart(member, name, old, at_ms, recent, changes, expelled=expelled)
        if had:
            known_ms = worked_ms or contact_ms or 0
            read = commits.ask_reads(self._group, had, known_ms, at_ms) if gives_up else None
            self.last_seen.work(name, worked_ms, read)
        if new is None:
            self.last_seen.forget(name)

    def complete(self, members: Iterable[Member], at_ms: int, started_ms: int | None) -> FirstCommits:
        """Return the first commits of the epoch that ``members`` reached at ``at_ms``; then await the next epoch's.

        First commits of partitions that members may have lost without a record (see `lost_since_ms`) are awaited again.
        """
        first, since_ms = self.first_commits, at_ms if started_ms is None else started_ms
        for member in members:
            if self._unheard(member.member_id, since_ms):
                kept = pairs(member.assigned) - first.awaited
                self._context.commits.expect(self._group, kept, at_ms, first)
        self.first_commits = FirstCommits()
        return first

    def _consumed_ms(self, partition: Partition) -> int | None:
        """Return when the owner of a partition (given by its key in records) first committed it after getting it."""
        if not self.first_commits.at_ms:
            return None
        topic, number = partition
        commits = map(self.first_commits.at_ms.get, self._recorded.named({topic: (number,)}))
        return min((at_ms for at_ms in commits if at_ms is not None), default=None)

    def _unheard(self, member_id: str, started_ms: int) -> bool:
        """Whether requests of a member may not have arrived in a rebalance, or in the session timeout before.

        The result is False for members whose rejoin is recorded, and for members that share their partitions.
        """
        if self._shared or not self._context.unreached_since(self._partition, started_ms - SESSION_TIMEOUT_MS):
            return False
        return not self._records.uses_classic_protocol(member_id)
