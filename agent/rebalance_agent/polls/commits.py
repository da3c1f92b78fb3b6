"""What groups have committed: unjudged in the tail of the offsets topic, and asked for only where that leaves a doubt.

The doubt is about transactions. The tail reads everything, also offsets that were committed within a transaction which
is still open or was aborted, and a client is not told which records are such. But it can be known of most that they are
not: everything before the last stable offset is decided, and every decision leaves a marker that clients are not shown,
a gap between the offsets that they read. So a commit before the last stable offset with no gap behind it, up to an end
that was asked for later, was made without a transaction. Of any other nothing is believed: `OffsetFetch` answers with
what counts.
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
"""Keys of records whose meaning is remembered: those of a busy cluster repeat every few seconds. Some 15 MB."""


class _Commit(NamedTuple):
    """A record of the tail, and its partition and offset in the offsets topic."""

    partition: int
    offset: int
    record: TopicRecord


@dataclass(slots=True)
class _Group:
    """``followed``: the partitions of interest. ``unjudged``: their commits since they were last judging, newest each."""

    followed: AbstractSet[Partition] = frozenset()
    committed: dict[Partition, int] = field(default_factory=dict)
    unjudged: dict[Partition, _Commit] = field(default_factory=dict)
    judging: dict[Partition, _Commit] = field(default_factory=dict)


class CommittedOffsets:
    """Committed offsets of the groups that are followed. Thread-safe: one thread hears, another asks and judges."""

    def __init__(self, follows: Callable[[str], bool], meters: Meters) -> None:
        """``follows``: groups that may ever be of interest; ``meters`` count what cannot be read."""
        self._meters = meters
        self._changed = threading.Condition()
        self._groups: dict[str, _Group] = {}
        self._doubtful: dict[str, None] = {}
        self._new: dict[str, dict[Partition, TopicRecord]] = {}
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
        """The tail read ``records``; ``positions``: partition -> the offset that it reads next, past all markers."""
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
                    self._new.setdefault(subject[0], {})[subject[1]] = record
            for partition, position in positions.items():
                if position != following.get(partition):
                    following[partition] = gaps[partition] = position
            self._changed.notify_all()

    def times(self) -> dict[str, dict[Partition, int]]:
        """When the groups committed last, by partition, of what was unjudged since the last call (the records' times).

        In a transaction or without one: whoever commits is alive.
        """
        with self._changed:
            new, self._new = self._new, {}
        return {
            group: {each: record.timestamp()[1] for each, record in some.items() if record.value() is not None}
            for group, some in new.items()
        }

    def follow(self, partitions_of: Mapping[str, AbstractSet[Partition]]) -> None:
        """Keep commits of these partitions by group, and of no other; what is new among them is in doubt."""
        with self._changed:
            for name, partitions in partitions_of.items():
                group = self._groups.setdefault(name, _Group())
                if not partitions <= group.followed:
                    self._doubtful[name] = None
                group.followed = partitions
                for held in (group.committed, group.unjudged, group.judging):
                    for partition in held.keys() - partitions:
                        del held[partition]
            for name in self._groups.keys() - partitions_of.keys():
                del self._groups[name]
                self._doubtful.pop(name, None)

    def doubt(self) -> None:
        """Believe nothing that was unjudged: the tail does not run, or did not for a while."""
        with self._changed:
            self._doubtful |= dict.fromkeys(self._groups)

    def to_judge(self) -> frozenset[int]:
        """Take what was unjudged so far for the next `judge`; the partitions of the offsets topic that it lies in."""
        with self._changed:
            for group in self._groups.values():
                group.judging |= group.unjudged
                group.unjudged = {}
            return frozenset(commit.partition for group in self._groups.values() for commit in group.judging.values())

    def wait_read(self, ends: Mapping[int, int], timeout: float) -> bool:
        """Wait until the tail has read up to ``ends``, ``timeout`` seconds at most."""
        with self._changed:
            return self._changed.wait_for(
                lambda: all(self._next.get(partition, 0) >= end for partition, end in ends.items()), timeout
            )

    def judge(self, stable: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Believe what was taken by `to_judge` as far as it was surely made outside any transaction.

        ``stable``: last stable offsets, asked for after `to_judge`; ``ends``: ends of the log, asked for after those.
        """
        with self._changed:
            groups = list(self._groups.items())
        for name, group in groups:
            with self._changed:  # one group at a time, so that the tail is not held up
                self._judge(name, group, stable, ends)

    def doubtful(self, groups_max: int) -> list[str]:
        """Up to ``groups_max`` groups of which `OffsetFetch` has to be asked, those first that were not for longest."""
        with self._changed:
            names = list(self._doubtful)[:groups_max]
            for name in names:
                self._doubtful[name] = self._doubtful.pop(name)
            return names

    def fetched(self, name: str, offsets: Mapping[Partition, int]) -> None:
        """What counts for the group, as its coordinator says."""
        with self._changed:
            group = self._groups.get(name)
            if group is not None:
                group.committed = {each: offset for each, offset in offsets.items() if each in group.followed}
                self._doubtful.pop(name, None)

    def offsets(self, name: str) -> Mapping[Partition, int]:
        """Committed offset of each followed partition that is known to have one."""
        with self._changed:
            group = self._groups.get(name)
            return dict(group.committed) if group else {}

    def _judge(self, name: str, group: _Group, stable: Mapping[int, int], ends: Mapping[int, int]) -> None:
        for partition, commit in list(group.judging.items()):
            decided = commit.offset < stable.get(commit.partition, 0)
            if not (decided and self._plain(commit, ends) and self._apply(group, partition, commit)):
                self._doubtful[name] = None
            # What may be an open transaction's stays in doubt until that ends.
            if decided or partition in group.unjudged:
                del group.judging[partition]

    def _plain(self, commit: _Commit, ends: Mapping[int, int]) -> bool:
        """Whether no transaction ended between the commit and the end."""
        partition = commit.partition
        read = self._next.get(partition, 0) >= ends.get(partition, inf)
        return read and self._gaps.get(partition, 0) <= commit.offset

    def _apply(self, group: _Group, partition: Partition, commit: _Commit) -> bool:
        """Take the commit's word; False where it cannot be read."""
        record = decode_counted(self._meters, commit.record.key() or b"", commit.record.value())
        if record is None:
            return False
        if record.value is not None:
            group.committed[partition] = int(record.value["offset"])
        elif record.tombstone:
            group.committed.pop(partition, None)
        return not record.unknown
