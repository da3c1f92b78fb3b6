"""Follows groups' committed offsets in the tail of the offsets topic; uses OffsetFetch only for offsets in doubt.

Commits are in doubt because of transactions. The tail also reads offsets that were committed in a transaction that is
still open or was aborted, and clients cannot distinguish such records. But most commits can be shown to be outside
transactions: every transaction before the last stable offset has ended with a marker, which clients see as a gap
between offsets. So a commit before the last stable offset was made without a transaction if no gap lies between the
commit and an end offset that was requested later. For all other commits, OffsetFetch requests the committed offset.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from rebalance_agent.cluster.collector_context import Meters
from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.groupprotocol.group_fact import COMMIT_KEYS_END, COMMIT_KEYS_START
from rebalance_agent.groupprotocol.wire.memo import remembered
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.offsets_topic.record_decoder import decode_counted

__all__ = ["KEYS_MAX", "CommittedOffsets"]

KEYS_MAX = 50_000
"""Maximum number of decoded keys in the cache (about 15 MB): the same keys of a busy cluster repeat every few
seconds."""


class _Commit(NamedTuple):
    """A commit's record, and its partition and offset in the offsets topic."""

    partition: int
    offset: int
    record: TopicRecord


@dataclass(slots=True)
class _Group:
    """A group's commits for its ``followed`` partitions.

    ``committed``: offsets that are certain. ``unjudged``: the newest commits since the last
    `CommittedOffsets.to_judge`; ``judging``: the commits that this call selected.
    """

    followed: AbstractSet[Partition] = frozenset()
    committed: dict[Partition, int] = field(default_factory=dict)
    unjudged: dict[Partition, _Commit] = field(default_factory=dict)
    judging: dict[Partition, _Commit] = field(default_factory=dict)


class CommittedOffsets:
    """Committed offsets of followed groups.

    Thread-safe: one thread adds records, another queries brokers and judges.
    """

    def __init__(self, follows: Callable[[str], bool], meters: Meters) -> None:
        """``follows``: returns whether a group may be followed; ``meters`` count records that cannot be decoded."""
        self._meters = meters
        self._changed = threading.Condition()
        self._groups: dict[str, _Group] = {}
        self._doubtful: dict[str, None] = {}
        self._next: dict[int, int] = {}
        self._gaps: dict[int, int] = {}

        def subject(key: bytes) -> tuple[str, Partition] | None:
            if not COMMIT_KEYS_START <= key < COMMIT_KEYS_END:
                return None
            record = decode_counted(meters, key, None)
            if record is None or not follows(record.group):
                return None
            return record.group, (str(record.key["topic"]), int(record.key["partition"]))

        self._subject = remembered(subject, KEYS_MAX)

    def on_records(self, records: Sequence[TopicRecord], positions: Mapping[int, int]) -> None:
        """Process ``records`` that the tail read; ``positions``: partition -> the next offset, past all markers."""
        subject_of, groups, following, gaps = self._subject, self._groups, self._next, self._gaps
        with self._changed:
            for record in records:
                partition, offset = record.partition(), record.offset()
                if offset != following.get(partition):
                    gaps[partition] = offset
                following[partition] = offset + 1
                subject = subject_of(record.key() or b"")
                if subject and (group := groups.get(subject[0])) and subject[1] in group.followed:
                    group.unjudged[subject[1]] = _Commit(partition, offset, record)
            for partition, position in positions.items():
                if position != following.get(partition):
                    following[partition] = gaps[partition] = position
            self._changed.notify_all()

    def follow(self, partitions_of: Mapping[str, AbstractSet[Partition]]) -> None:
        """Follow only these partitions (by group); the commits of newly followed partitions are in doubt."""
        with self._changed:
            for name, partitions in partitions_of.items():
                group = self._groups.setdefault(name, _Group())
                if not partitions <= group.followed:
                    self._doubtful[name] = None
                group.followed = partitions
                for commits in (group.committed, group.unjudged, group.judging):
                    for partition in commits.keys() - partitions:
                        del commits[partition]
            for name in self._groups.keys() - partitions_of.keys():
                del self._groups[name]
                self._doubtful.pop(name, None)

    def doubt(self) -> None:
        """Mark all groups as in doubt: the tail is not running, or was interrupted."""
        with self._changed:
            self._doubtful |= dict.fromkeys(self._groups)

    def to_judge(self) -> frozenset[int]:
        """Select the commits so far for the next `judge`; return their partitions of the offsets topic."""
        with self._changed:
            for group in self._groups.values():
                group.judging |= group.unjudged
                group.unjudged = {}
            return frozenset(commit.partition for group in self._groups.values() for commit in group.judging.values())

    def wait_read(self, ends: Mapping[int, int], timeout: float) -> bool:
        """Wait at most ``timeout`` seconds until the tail has read up to ``ends``; return whether it has done so."""
        with self._changed:
            return self._changed.wait_for(
                lambda: all(self._next.get(partition, 0) >= end for partition, end in ends.items()), timeout
            )

    def judge(self, stable: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Accept the commits selected by `to_judge` that were certainly made outside transactions; doubt the others.

        ``stable``: last stable offsets, requested after `to_judge`. ``ends``: end offsets, requested after ``stable``.
        """
        with self._changed:
            groups = list(self._groups.items())
        for name, group in groups:
            with self._changed:  # one group at a time, so that the tail does not wait long
                self._judge(name, group, stable, ends)

    def doubtful(self, groups_max: int) -> list[str]:
        """Return up to ``groups_max`` groups that need an OffsetFetch, the group that has waited longest first."""
        with self._changed:
            names = list(self._doubtful)[:groups_max]
            for name in names:
                self._doubtful[name] = self._doubtful.pop(name)
            return names

    def fetched(self, name: str, offsets: Mapping[Partition, int]) -> None:
        """Set the group's committed offsets to those that its coordinator returned."""
        with self._changed:
            group = self._groups.get(name)
            if group is not None:
                group.committed = {pair: offset for pair, offset in offsets.items() if pair in group.followed}
                self._doubtful.pop(name, None)

    def offsets(self, name: str) -> Mapping[Partition, int]:
        """Return partition -> committed offset, for partitions whose committed offset is known."""
        with self._changed:
            group = self._groups.get(name)
            return dict(group.committed) if group else {}

    def is_certain(self, name: str) -> bool:
        """Return whether the group's committed offsets are certain: no commit is in doubt or not yet judged."""
        with self._changed:
            group = self._groups.get(name)
            return group is not None and name not in self._doubtful and not (group.unjudged or group.judging)

    def _judge(self, name: str, group: _Group, stable: Mapping[int, int], ends: Mapping[int, int]) -> None:
        for partition, commit in list(group.judging.items()):
            decided = commit.offset < stable.get(commit.partition, 0)
            if not (decided and self._plain(commit, ends) and self._apply(group, partition, commit)):
                self._doubtful[name] = None
            # A commit that may be in an open transaction is judged again until the transaction ends.
            if decided or partition in group.unjudged:
                del group.judging[partition]

    def _plain(self, commit: _Commit, ends: Mapping[int, int]) -> bool:
        """Return whether no transaction's marker lies between the commit and the end."""
        partition = commit.partition
        read = self._next.get(partition, 0) >= ends.get(partition, inf)
        return read and self._gaps.get(partition, 0) <= commit.offset

    def _apply(self, group: _Group, partition: Partition, commit: _Commit) -> bool:
        """Set the group's committed offset from the commit; return False if the record cannot be decoded."""
        record = decode_counted(self._meters, commit.record.key() or b"", commit.record.value())
        if record is None:
            return False
        if record.value is not None:
            group.committed[partition] = int(record.value["offset"])
        elif record.tombstone:
            group.committed.pop(partition, None)
        return not record.unknown
