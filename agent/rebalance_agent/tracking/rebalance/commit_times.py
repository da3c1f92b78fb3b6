"""When the partitions of all groups were committed: signs of life of members that report nothing.

The coordinator accepts a commit only from a current member, so it shows that the member was alive. That the member
consumed as well is certain only until the last commit but one: a member that leaves commits at the end of its revoked
callback. If the last one repeats the offset of the one before, both may be from within the callback.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from rebalance_agent.groupprotocol.commit_key import commit_key, committing_group
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.completed_generation import FirstCommits
from rebalance_agent.tracking.observations import Commit

__all__ = ["PARTITIONS_MAX", "CommitTimes"]

PARTITIONS_MAX = 100_000
"""Partitions of groups whose commits are kept, some 30 MB; those of further partitions are not."""

_Seen = tuple[int, int, int, int]
"""The last commit's time and offset, the time of the one before, and until when its owner worked (epoch ms); -1 where
unknown. A tuple without names: thousands of commits a second make one each."""


class _Awaited(NamedTuple):
    after_ms: int
    partition: Partition
    first: FirstCommits


class CommitTimes:
    """The last commits of each partition of each group, and the first ones after partitions were assigned.

    All are kept by the key of the commit's record (`commit_key`), so that a commit costs one look-up.
    """

    def __init__(self) -> None:
        """Start without commits."""
        self._seen: dict[bytes, _Seen] = {}
        self._awaited: dict[bytes, _Awaited] = {}
        self._keys: dict[bytes, dict[bytes, None]] = {}  # of each group, in either of them

    def update(self, commits: Mapping[bytes, Commit | None]) -> None:
        """Take the last commit by its record's key, in the order of the records; None: the commits were deleted."""
        all_seen, awaited = self._seen, self._awaited
        for key, commit in commits.items():
            seen = all_seen.get(key)
            if commit is None:
                if seen is not None:
                    self._drop(key)
                continue
            at_ms, offset = commit
            if seen is None:
                if len(all_seen) < PARTITIONS_MAX:
                    all_seen[key] = (at_ms, offset, -1, -1)
                    self._add(key)
            elif at_ms > seen[0]:
                # An owner that repeats an offset may be in its callback, and may have been at the commit before.
                all_seen[key] = (at_ms, offset, seen[0], seen[0] if offset > seen[1] else seen[2])
            if key in awaited and at_ms >= awaited[key].after_ms:
                awaiting = awaited.pop(key)
                awaiting.first.at_ms[awaiting.partition] = at_ms
                if key not in all_seen:
                    self._remove(key)

    def _drop(self, key: bytes) -> None:
        del self._seen[key]
        if key not in self._awaited:
            self._remove(key)

    def _add(self, key: bytes) -> None:
        self._keys.setdefault(committing_group(key), {})[key] = None

    def _remove(self, key: bytes) -> None:
        name = committing_group(key)
        keys = self._keys[name]
        del keys[key]
        if not keys:
            del self._keys[name]

    def expect(self, name: str, partitions: Collection[Partition], after_ms: int, first: FirstCommits) -> None:
        """Await, into ``first``, the first commit of each of the group's ``partitions`` from ``after_ms`` on.

        To be called when the record is read that assigns them: commits before it in the log were taken before.
        """
        for partition in partitions:
            first.at_ms.pop(partition, None)
            first.awaited.add(partition)
            key = commit_key(name, *partition)
            self._awaited[key] = _Awaited(after_ms, partition, first)
            self._add(key)

    def forget(self, name: str) -> None:
        """Drop the commits of a group that is gone or owned by another observer."""
        for key in self._keys.pop(name.encode(), ()):
            self._seen.pop(key, None)
            self._awaited.pop(key, None)

    def awaited(self, name: str) -> list[Partition]:
        """Return the group's partitions whose first commit is awaited."""
        keys = self._keys.get(name.encode(), ())
        return [self._awaited[key].partition for key in keys if key in self._awaited]

    def worked_ms(self, name: str, partitions: Collection[Partition], after_ms: int, until_ms: int) -> int | None:
        """Return until when an owner of all these partitions surely worked (epoch ms); None where no commit shows it.

        Its commits are in (``after_ms``, ``until_ms``]. A partition with a commit after ``until_ms`` has another owner
        already, and nothing is known of the commits before it.
        """
        if name.encode() not in self._keys:
            return None
        commits = (self._seen.get(commit_key(name, *partition)) for partition in partitions)
        own = (worked_ms for at_ms, _, _, worked_ms in filter(None, commits) if at_ms <= until_ms)
        return max((worked_ms for worked_ms in own if worked_ms > after_ms), default=None)
