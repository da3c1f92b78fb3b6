"""When the partitions of all groups were committed: signs of life of members that report nothing.

The coordinator accepts a commit only from a current member, so it shows that the member was alive. That the member
consumed as well is certain only until the last commit but one: a member that leaves commits at the end of its revoked
callback. If the last one repeats the offset of the one before, both may be from within the callback.

A commit's time is the coordinator's; the member took the offsets before it. Offsets that grew between two commits
show that it consumed after it had taken those of the first one: at most `COMMIT_DELAY_MS` before that commit's time,
and later than the commit before it, since a client commits again only when the coordinator has answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.groupprotocol.commit_key import partition_key, split_commit_key
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.completed_generation import FirstCommits

__all__ = ["COMMIT_DELAY_MS", "EARLIER_MAX", "PARTITIONS_MAX", "Commit", "CommitTimes"]

COMMIT_DELAY_MS = 500
"""Longest time (ms) from taking offsets to the coordinator's record of them. It includes the client's queue and the
coordinator's: on two cores with 80 runnable processes one of 270 took nearly as long."""

PARTITIONS_MAX = 100_000
"""Partitions of groups whose commits are kept, some 30 MB; those of further partitions are not."""


class Commit(NamedTuple):
    """An offset commit of one partition: its record's timestamp (epoch ms), and the offset."""

    at_ms: int
    offset: int


EARLIER_MAX = 8
"""Generations without a commit of a partition whose stall its first commit ends: as many as may wait to settle."""


class _Seen(NamedTuple):
    """The last commit, the time of the one before, and until when its owner worked (epoch ms); -1 where unknown."""

    at_ms: int
    offset: int
    before_ms: int
    worked_ms: int


class _Awaited(NamedTuple):
    """``earlier``: of generations before, in which the partition was not committed."""

    after_ms: int
    partition: Partition
    first: FirstCommits
    earlier: tuple[FirstCommits, ...] = ()


@dataclass(slots=True)
class _Group:
    """The commits of one group's partitions, and the partitions whose first commit is awaited, by `partition_key`."""

    seen: dict[bytes, _Seen] = field(default_factory=dict)
    awaited: dict[bytes, _Awaited] = field(default_factory=dict)


class CommitTimes:
    """The last commits of each partition of each group, and the first ones after partitions were assigned."""

    def __init__(self) -> None:
        """Start without commits."""
        self._groups: dict[bytes, _Group] = {}
        self._size = 0

    def update(self, commits: Mapping[bytes, Commit | None]) -> None:
        """Take the last commit by its record's key, in the order of the records; None: the commits were deleted."""
        for key, commit in commits.items():
            name, partition = split_commit_key(key)
            group = self._groups.get(name)
            if commit is None:
                self._drop(name, partition)
            elif group is not None:
                self._take(group, partition, *commit)
            elif self._size < PARTITIONS_MAX:
                self._take(self._groups.setdefault(name, _Group()), partition, *commit)

    def _take(self, group: _Group, partition: bytes, at_ms: int, offset: int) -> None:
        before = group.seen.get(partition)
        if before is None:
            if self._size < PARTITIONS_MAX:
                self._size += 1
                group.seen[partition] = _Seen(at_ms, offset, -1, -1)
        elif at_ms > before.at_ms:
            if offset > before.offset:
                worked_ms = max(before.at_ms - COMMIT_DELAY_MS, before.before_ms)
            else:
                # The owner may be in its callback, and may have been at the commit before.
                worked_ms = max(before.before_ms - COMMIT_DELAY_MS, before.worked_ms)
            group.seen[partition] = _Seen(at_ms, offset, before.at_ms, worked_ms)
        if group.awaited and (awaited := group.awaited.get(partition)) and at_ms >= awaited.after_ms:
            awaited.first.at_ms[awaited.partition] = at_ms
            for first in awaited.earlier:
                first.later_ms[awaited.partition] = at_ms
            del group.awaited[partition]

    def _drop(self, name: bytes, partition: bytes) -> None:
        group = self._groups.get(name)
        if group is None or group.seen.pop(partition, None) is None:
            return
        self._size -= 1
        if not (group.seen or group.awaited):
            del self._groups[name]

    def expect(self, name: str, partitions: Collection[Partition], after_ms: int, first: FirstCommits) -> None:
        """Await, into ``first``, the first commit of each of the group's ``partitions`` from ``after_ms`` on.

        To be called when the record is read that assigns them: commits before it in the log were taken before.
        """
        group = self._groups.setdefault(name.encode(), _Group())
        for partition in partitions:
            first.at_ms.pop(partition, None)
            first.awaited.add(partition)
            key = partition_key(*partition)
            before = group.awaited.get(key)
            earlier = before.earlier + ((before.first,) if before.first is not first else ()) if before else ()
            group.awaited[key] = _Awaited(after_ms, partition, first, earlier[-EARLIER_MAX:])

    def forget(self, name: str) -> None:
        """Drop the commits of a group that is gone or owned by another observer."""
        if group := self._groups.pop(name.encode(), None):
            self._size -= len(group.seen)

    def awaited(self, name: str) -> list[Partition]:
        """Return the group's partitions whose first commit is awaited."""
        return [one.partition for one in self._groups.get(name.encode(), _NO_GROUP).awaited.values()]

    def worked_ms(self, name: str, partitions: Collection[Partition], after_ms: int, until_ms: int) -> int | None:
        """Return until when an owner of all these partitions surely worked (epoch ms); None where no commit shows it.

        Its commits are in (``after_ms``, ``until_ms``]. A partition with a commit after ``until_ms`` has another owner
        already, and nothing is known of the commits before it.
        """
        seen = self._groups.get(name.encode(), _NO_GROUP).seen
        commits = (seen.get(partition_key(*partition)) for partition in partitions) if seen else ()
        own = (commit.worked_ms for commit in commits if commit and commit.at_ms <= until_ms)
        return max((worked_ms for worked_ms in own if worked_ms > after_ms), default=None)


_NO_GROUP = _Group()
