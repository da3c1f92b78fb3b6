"""Forwards records of the offsets topic: all records to ``on_records``, group records and commits to the tracker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import TopicRecord, record_bytes
from rebalance_agent.groupprotocol.commit_key import committed_offset
from rebalance_agent.groupprotocol.group_fact import COMMIT_KEYS_END, COMMIT_KEYS_START
from rebalance_agent.offsets_topic.gaps import OffsetGaps
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.replay import Replay
from rebalance_agent.offsets_topic.work_share.fair_share import FairShare
from rebalance_agent.offsets_topic.work_share.set_aside import WaitingRecord
from rebalance_agent.tracking.evidence.commits.last_commits import Commit
from rebalance_agent.tracking.observations import CommitsSeen, EpochRecord, GroupRecord

__all__ = ["COMMITS_EVERY_S", "COMMITS_MAX", "ObservationEmitter"]

COMMITS_EVERY_S = 0.2
"""Seconds between two `CommitsSeen` while no group writes a record. Each of them wakes the tracker's thread, and a busy
topic is read some fifty times a second; commits matter only together with a following record."""

COMMITS_MAX = 5_000
"""Maximum number of partitions whose commits are collected for the next `CommitsSeen`: as many as one read may
return."""


class ObservationEmitter:
    """Puts `GroupRecord` and `EpochRecord` observations into the inbox. Used by one thread.

    ``replay``: recognises the tail's records that are read again after snapshots. ``gaps``: where offsets were missing.
    ``share``: which groups must wait because they cause too much work.
    """

    def __init__(
        self,
        context: CollectorContext,
        records: GroupRecords,
        on_records: Callable[[Sequence[TopicRecord], Mapping[int, int]], None] | None,
    ) -> None:
        """``on_records`` is called with all records that the tail reads, and the next offsets (partition -> offset)."""
        self._context = context
        self._records = records
        self._on_records = on_records
        self.begin()

    def begin(self) -> None:
        """Record that the tail starts or restarts, with nothing to replay."""
        self.replay, self.gaps = Replay(), OffsetGaps()
        self.share = FairShare(self._context, self._decode)
        self._commits: dict[bytes, Commit | None] = {}
        self._commits_emitted = self._context.clock.monotonic()

    def drop(self, partitions: Iterable[int]) -> None:
        """Emit the records read from these partitions, which are no longer read."""
        self._emit_commits()
        self.replay.drop(partitions)
        self.gaps.drop(partitions)
        self.share.drop(partitions)

    def emit_past(self, messages: Iterable[TopicRecord], *, replayed: bool = False) -> None:
        """Emit the earlier state of groups, from a backfill or (``replayed``) from a snapshot."""
        for message in messages:
            if message.value() is not None:
                self.share.know(message.key() or b"")
            if (record := self._records.decode(message, live=False, replayed=replayed)) is not None:
                self._context.inbox.put(record, record_bytes(message))

    def emit_live(
        self, records: Sequence[TopicRecord], messages: Sequence[TopicRecord], positions: Mapping[int, int]
    ) -> None:
        """Pass on all ``records``, and emit ``messages`` (the group records among them), in the order of the records.

        This order makes the tracker's conclusions independent of the batch size. ``positions``: the tail's next
        offsets. Commits are emitted before the next record of a group, or every `COMMITS_EVERY_S`, even if there are no
        ``records``.
        """
        self.gaps.see(records)
        emitted = 0
        for message in messages:
            end = records.index(message, emitted) + 1
            self._pass_on(records[emitted:end], {})
            self._emit_commits()
            self._put_live(message)
            emitted = end
        self._pass_on(records[emitted:], positions)
        due = self._context.clock.monotonic() - self._commits_emitted >= COMMITS_EVERY_S
        if due or len(self._commits) >= COMMITS_MAX:
            self._emit_commits()

    def _pass_on(self, records: Sequence[TopicRecord], positions: Mapping[int, int]) -> None:
        """Pass records up to the next group record to ``on_records``, and collect the commits among them."""
        commits = self._commits
        for record in records:
            key = record.key() or b""
            if COMMIT_KEYS_START <= key < COMMIT_KEYS_END:
                value = record.value()
                commits[key] = None if value is None else (record.timestamp()[1], committed_offset(value))
        if self._on_records:
            self._on_records(records, positions)

    def _emit_commits(self) -> None:
        self._commits_emitted = self._context.clock.monotonic()
        if commits := self._commits:
            self._commits = {}
            self._context.inbox.offer(CommitsSeen(self._context.clock.now_ms(), commits))

    def _put_live(self, message: TopicRecord) -> None:
        again = self.replay.is_old(message)
        self.share.put(WaitingRecord(message, self._context.clock.now_ms(), again, self.gaps.before(message)))
        if again:
            self._context.meters.replayed(1)

    def _decode(self, waiting: WaitingRecord) -> GroupRecord | EpochRecord | None:
        record = self._records.decode(
            waiting.message,
            live=True,
            replayed=waiting.replayed,
            gap_offset=waiting.gap_offset,
            seen_ms=waiting.seen_ms,
        )
        return replace(record, skipped=waiting.skipped) if record and waiting.skipped else record
