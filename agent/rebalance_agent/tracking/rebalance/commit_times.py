"""When the partitions of all groups were committed: signs of life of members that report nothing.

The coordinator accepts a commit only from a current member, so it shows that the member was alive. That the member
consumed as well is certain only until the last commit but one: a member that leaves commits at the end of its revoked
callback. If the last one repeats the offset of the one before, both may be from within the callback.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from rebalance_agent.groupprotocol.commit_key import commit_key
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.completed_generation import FirstCommits
from rebalance_agent.tracking.observations import Commit

__all__ = ["PARTITIONS_MAX", "CommitTimes"]

PARTITIONS_MAX = 100_000
"""Partitions of groups whose commits are kept, some 30 MB; beyond it, those that were first seen longest ago are
dropped."""


class _Seen(NamedTuple):
    """The last commit, the time of the one before, and until when its owner worked (epoch ms); -1 where unknown."""

    at_ms: int
    offset: int
    before_ms: int
    worked_ms: int


class _Awaited(NamedTuple):
    after_ms: int
    partition: Partition
    first: FirstCommits


class CommitTimes:
    """The last commits of each partition of each group, and the first ones after partitions were assigned.

    Keys are those of the records (`commit_key`).
    """

    def __init__(self) -> None:
        """Start without commits."""
        self._seen: dict[bytes, _Seen] = {}
        self._awaited: dict[bytes, _Awaited] = {}

    def update(self, commits: Mapping[bytes, Commit | None]) -> None:
        """Take the last commit by key, in the order of the records; None: the partition's commits were deleted."""
        seen, awaited = self._seen, self._awaited
        for key, commit in commits.items():
            if commit is None:
                seen.pop(key, None)
                continue
            at_ms, offset = commit
            before = seen.get(key)
            if before is None:
                if len(seen) >= PARTITIONS_MAX:
                    del seen[next(iter(seen))]
                seen[key] = _Seen(at_ms, offset, -1, -1)
            elif at_ms > before.at_ms:
                # An owner that repeats an offset may be in its callback, and may have been at the commit before.
                worked_ms = before.at_ms if offset > before.offset else before.before_ms
                seen[key] = _Seen(at_ms, offset, before.at_ms, worked_ms)
            if awaited and (awaits := awaited.get(key)) and at_ms >= awaits.after_ms:
                awaits.first.at_ms[awaits.partition] = at_ms
                del awaited[key]

    def expect(self, group: str, partitions: Collection[Partition], after_ms: int, first: FirstCommits) -> None:
        """Await, into ``first``, the first commit of each of the group's ``partitions`` from ``after_ms`` on.

        To be called when the record is read that assigns them: commits before it in the log were taken before.
        """
        for partition in partitions:
            key = commit_key(group, *partition)
            self._awaited.pop(key, None)
            first.at_ms.pop(partition, None)
            first.awaited.add(partition)
            if len(self._awaited) < PARTITIONS_MAX:
                self._awaited[key] = _Awaited(after_ms, partition, first)

    @property
    def awaited(self) -> Collection[bytes]:
        """The keys of the partitions whose first commit is awaited."""
        return self._awaited.keys()

    def alive_ms(
        self, group: str, partitions: Collection[Partition], after_ms: int, until_ms: int
    ) -> tuple[int | None, int | None]:
        """Return until when an owner of all these partitions was alive, and until when it surely worked (epoch ms).

        Its commits are in (``after_ms``, ``until_ms``]; None where there are none. A partition with a commit after
        ``until_ms`` has another owner already, and nothing is known of the commits before it.
        """
        seen = [one for partition in partitions if (one := self._seen.get(commit_key(group, *partition)))]
        own = [one for one in seen if after_ms < one.at_ms <= until_ms]
        alive = max((one.at_ms for one in own), default=None)
        return alive, max((one.worked_ms for one in own if one.worked_ms > after_ms), default=None)
