"""Keeps the times of offset commits of all groups: they show that members without reports were alive.

The coordinator accepts a commit only from a current member, so it shows that the member was alive. That the member
consumed as well is certain only until the last commit but one: a member that leaves commits at the end of its revoked
callback. If the last one repeats the offset of the one before, both may be from within the callback.

A commit's time is the coordinator's; the member took the offsets before it (`SlowAnswers.taken_ms`). Offsets that grew
between two commits show that it consumed after it had taken those of the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from rebalance_agent.groupprotocol.commit_key import commit_key, commit_keys, group_of_key
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.evidence.known_times import FirstCommits
from rebalance_agent.tracking.evidence.slow_answers import SlowAnswers

__all__ = [
    "AWAITED_MAX",
    "AWAITED_MAX_MS",
    "EARLIER_MAX",
    "EARLIER_MAX_MS",
    "PARTITIONS_MAX",
    "Commit",
    "CommitTimes",
    "RecentCommits",
]

NAME_BYTES_MAX = 249
"""Bytes of a group's name (Kafka's limit for topics). Commits of groups with longer names are not followed: the name is
in the key of each partition."""

KEY_BYTES_MAX = 2 * NAME_BYTES_MAX + 10
"""Bytes of the key of a commit: the names of its group and topic, their lengths, a version and a partition."""

PARTITIONS_MAX = 100_000
"""Partitions of groups whose commits are kept, some 30 MB; those of further partitions are not."""

AWAITED_MAX = 200_000
"""Partitions of groups whose first commit is awaited, some 80 MB: as many as the groups of a large cluster have, which
all rebalance when its brokers restart. Beyond it the oldest are dropped."""

AWAITED_MAX_MS = 900_000
"""How long (ms) a first commit is awaited, and twice as long at most: none comes for deleted topics, and in groups that
store their offsets elsewhere. By then episodes cannot be revised any more, and at Kafka's default of
``max.poll.interval.ms`` an owner that does not consume was removed."""

Commit = tuple[int, int]
"""An offset commit of one partition: its record's timestamp (epoch ms), and the offset. A tuple without names: the
offsets topic has thousands a second."""

EARLIER_MAX = 8
EARLIER_MAX_MS = 300_000
"""Generations without a commit of a partition whose stall its first commit ends: as many as may wait to settle, and the
longest time (ms) from one to the next: by then the earlier ones have settled."""

_Seen = tuple[int, int, int, int]
"""The last commit's time and offset, the time of the one before, and of the one whose offsets its owner took while it
surely worked (epoch ms); -1 where unknown. A tuple without names: thousands of commits a second make one each."""


class RecentCommits(NamedTuple):
    """The last commit of a member (epoch ms), and the time since the one before (ms; None: it was the first one)."""

    last_ms: int
    period_ms: int | None


class _Awaited(NamedTuple):
    """``earlier``: of generations before, in which the partition was not committed."""

    after_ms: int
    partition: Partition
    first: FirstCommits
    earlier: tuple[FirstCommits, ...] = ()


class CommitTimes:
    """The last commits of each partition of each group, and the first ones after partitions were assigned.

    All are kept by the key of the commit's record (`commit_key`), so that a commit costs one look-up. ``answers``: how
    late commits may be.
    """

    def __init__(self) -> None:
        """Start without commits."""
        self.answers = SlowAnswers()
        self._seen: dict[bytes, _Seen] = {}
        self._awaited: dict[bytes, _Awaited] = {}
        self._checked_ms = 0
        # The keys of each group in these two, each once: lists, since a set of twenty takes 2 KB.
        self._keys: dict[bytes, list[bytes]] = {}

    def update(self, commits: Mapping[bytes, Commit | None]) -> None:
        """Take the last commit by its record's key, in the order of the records; None: the commits were deleted."""
        all_seen, awaited = self._seen, self._awaited
        dropped: list[bytes] = []
        for key, commit in commits.items():
            seen = all_seen.get(key)
            if commit is None:
                if seen is not None:
                    del all_seen[key]
                    dropped.append(key)
                continue
            at_ms, offset = commit
            if seen is None:
                if len(all_seen) < PARTITIONS_MAX and len(key) <= KEY_BYTES_MAX:
                    self._add(key)
                    all_seen[key] = (at_ms, offset, -1, -1)
            elif at_ms > seen[0]:
                last_ms, last_offset, before_ms, work_ms = seen
                # If the offset is the same, the owner may be in its callback, and may have been at the commit before.
                work_ms = last_ms if offset > last_offset else max(before_ms, work_ms)
                all_seen[key] = (at_ms, offset, last_ms, work_ms)
            if key in awaited and at_ms >= awaited[key].after_ms:
                self._first(key, at_ms)
                if key not in all_seen:
                    dropped.append(key)
        self._forget_keys(dropped)

    def _first(self, key: bytes, at_ms: int) -> None:
        awaited = self._awaited.pop(key)
        awaited.first.take(awaited.partition, at_ms)
        for first in awaited.earlier:
            first.later_ms[awaited.partition] = at_ms

    def _add(self, key: bytes) -> None:
        """Add the key to its group's keys. To be called before it is put into ``_seen`` or ``_awaited``."""
        if key not in self._seen and key not in self._awaited:
            self._keys.setdefault(group_of_key(key), []).append(key)

    def _forget_keys(self, dropped: Iterable[bytes]) -> None:
        """Remove dropped keys from their groups' keys. One call for many keys: it reads all keys of their groups."""
        for name in set(map(group_of_key, dropped)):
            keys = [key for key in self._keys.pop(name) if key in self._seen or key in self._awaited]
            if keys:
                self._keys[name] = keys

    def expect(self, name: str, partitions: Collection[Partition], after_ms: int, first: FirstCommits) -> None:
        """Await, into ``first``, the first commit of each of the group's ``partitions`` from ``after_ms`` on.

        To be called when the record is read that assigns them: commits before it in the log were taken before.
        """
        if len(name.encode()) > NAME_BYTES_MAX:
            return
        first.await_anew(partitions)
        all_seen, all_awaited = self._seen, self._awaited
        keys = self._keys.setdefault(name.encode(), [])
        for partition, key in zip(partitions, commit_keys(name, partitions), strict=True):
            before = all_awaited.pop(key, None)  # the oldest ones come first
            earlier: tuple[FirstCommits, ...] = ()
            if before is not None:
                released_ms = before.first.released_ms
                if before.first is first:
                    earlier = before.earlier
                else:
                    released_ms.setdefault(partition, after_ms)
                    earlier = (*before.earlier, before.first)[-EARLIER_MAX:]
                if after_ms - before.after_ms > EARLIER_MAX_MS:
                    earlier = ()
            elif key not in all_seen:
                keys.append(key)
            all_awaited[key] = _Awaited(after_ms, partition, first, earlier)
        if not keys:
            del self._keys[name.encode()]
        self._drop_overdue(after_ms)

    def release(self, name: str, partitions: Iterable[Partition], at_ms: int) -> None:
        """Record that the owners had to give up these ``partitions`` of the group, at ``at_ms`` at the earliest.

        If a partition's first commit is still awaited, later commits of its owner's other partitions do not show that
        it was consumed.
        """
        released = list(partitions)
        for partition, key in zip(released, commit_keys(name, released), strict=True):
            if awaited := self._awaited.get(key):
                awaited.first.released_ms.setdefault(partition, at_ms)

    def _drop_overdue(self, now_ms: int) -> None:
        """Stop awaiting commits that are overdue at ``now_ms``, and the oldest of too many: many at once, or rarely."""
        excess = len(self._awaited) - AWAITED_MAX
        if excess <= 0 and abs(now_ms - self._checked_ms) < AWAITED_MAX_MS:
            return
        self._checked_ms = now_ms
        oldest = excess + AWAITED_MAX // 10 if excess > 0 else 0
        dropped = [
            key
            for index, (key, awaited) in enumerate(self._awaited.items())
            if index < oldest or now_ms - awaited.after_ms > AWAITED_MAX_MS
        ]
        for key in dropped:
            del self._awaited[key]
        self._forget_keys(dropped)

    def name_topics(self, name: str, topic_name: Callable[[str], str]) -> None:
        """Await commits of the group by the names of topics that were known by their id alone.

        ``topic_name`` returns the name for an id. Commits that came meanwhile count.
        """
        awaited = {key: self._awaited[key] for key in self._keys.get(name.encode(), ()) if key in self._awaited}
        topics = {waiting.partition[0] for waiting in awaited.values()}
        names = {topic: known for topic in topics if (known := topic_name(topic)) != topic}
        firsts: dict[int, FirstCommits] = {}
        renamed = {key: waiting for key, waiting in awaited.items() if waiting.partition[0] in names}
        for key, waiting in renamed.items():
            topic, number = waiting.partition
            firsts |= {id(first): first for first in (waiting.first, *waiting.earlier)}
            del self._awaited[key]
            self._await_by_name(waiting._replace(partition=(names[topic], number)), name)
        self._forget_keys(renamed)
        for first in firsts.values():
            first.rename(topic_name)

    def _await_by_name(self, waiting: _Awaited, name: str) -> None:
        key = commit_key(name, *waiting.partition)
        if key in self._awaited:
            return  # of a later assignment
        self._add(key)
        self._awaited[key] = waiting
        if seen := self._seen.get(key):
            last_ms, _, before_ms, _ = seen
            if last_ms > waiting.after_ms:
                self._first(key, before_ms if before_ms > waiting.after_ms else last_ms)

    def forget(self, name: str) -> None:
        """Drop the commits of a group that is gone or owned by another observer."""
        for key in self._keys.pop(name.encode(), ()):
            self._seen.pop(key, None)
            self._awaited.pop(key, None)

    def worked_ms(self, name: str, partitions: Collection[Partition], after_ms: int, until_ms: int) -> int | None:
        """Return until when an owner of all these partitions surely worked (epoch ms); None where no commit shows it.

        Its commits are in (``after_ms``, ``until_ms``]. A partition with a commit after ``until_ms`` has another owner
        already, and nothing is known of the commits before it.
        """
        if name.encode() not in self._keys:
            return None
        commits = map(self._seen.get, commit_keys(name, partitions))
        work_ms = max((work_ms for at_ms, _, _, work_ms in filter(None, commits) if at_ms <= until_ms), default=-1)
        worked_ms = self.answers.taken_ms(work_ms)
        return worked_ms if worked_ms > after_ms else None

    def recent(
        self, name: str, partitions: Collection[Partition], after_ms: int, until_ms: int
    ) -> RecentCommits | None:
        """Return the last commits from ``after_ms`` to ``until_ms`` of an owner of all these partitions, if any."""
        if name.encode() not in self._keys:
            return None
        commits = filter(None, map(self._seen.get, commit_keys(name, partitions)))
        own = [(at_ms, before_ms) for at_ms, _, before_ms, _ in commits if after_ms <= at_ms <= until_ms]
        if not own:
            return None
        last_ms, before_ms = max(own)
        return RecentCommits(last_ms, last_ms - before_ms if before_ms >= after_ms else None)
