"""Keeps the times of all groups' offset commits, which show that members without reports were alive.

The coordinator accepts a commit only from a current member, so a commit shows that the member was alive. It certainly
consumed only until the second-to-last commit: a member that leaves commits at the end of its revoked callback. If the
last commit repeats the previous offset, the member may have sent both commits from within the callback.

A commit's time is by the coordinator's clock; the member determined the offsets earlier (`SlowAnswers.taken_ms`). If
the offset grew between two commits, the member consumed after it had determined the first one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from rebalance_agent.groupprotocol.commit_key import commit_key, commit_keys, group_of_key
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.evidence.commits.last_commits import NAME_BYTES_MAX, Commit, LastCommit, LastCommits
from rebalance_agent.tracking.evidence.commits.read_times import ReadQuestion, ReadTime, ReadTimes
from rebalance_agent.tracking.evidence.commits.slow_answers import SlowAnswers
from rebalance_agent.tracking.evidence.known_times import FirstCommits

__all__ = [
    "AWAITED_MAX",
    "AWAITED_MAX_MS",
    "EARLIER_MAX",
    "EARLIER_MAX_MS",
    "READS_ASKED",
    "CommitTimes",
    "RecentCommits",
]

AWAITED_MAX = 200_000
"""Maximum number of partitions of all groups whose first commit is awaited; they take about 80 MB. The groups of a
large cluster have about as many, and all of them rebalance when the brokers restart. Beyond it, those of the groups
with the most are dropped, so that no group ends the waits of the others."""

AWAITED_MAX_MS = 900_000
"""How long (ms) a first commit is awaited (at most twice as long): no commit comes for deleted topics, or in groups
that store their offsets elsewhere. By then episodes can no longer be revised, and at Kafka's default of
``max.poll.interval.ms`` an owner that does not consume has been removed."""

EARLIER_MAX = 8
EARLIER_MAX_MS = 300_000
"""A partition's first commit also ends its stalls in earlier generations. `EARLIER_MAX` limits the number of these
generations: as many as may wait to settle. `EARLIER_MAX_MS` limits the time (ms) from one to the next: after a longer
time, the earlier ones have settled."""

READS_ASKED = 3
"""Partitions per member for which the last read records are queried: the partitions that were committed last. It is
more than one, since some partitions get few records."""

READS_WORTH_MS = 1_000
"""No query is made if commits alone show that a member worked until at most this long (ms) before its last commit."""


class RecentCommits(NamedTuple):
    """The last commit of a member (epoch ms), and the time since the previous one (ms; None if it was the first)."""

    last_ms: int
    period_ms: int | None


class _Awaited(NamedTuple):
    """One awaited commit; ``earlier``: the entries of earlier generations in which the partition was not committed."""

    after_ms: int
    partition: Partition
    first: FirstCommits
    earlier: tuple[FirstCommits, ...] = ()


class CommitTimes:
    """The last commits of each group's partitions, and the first ones after each assignment.

    All commits are stored under the key of the commit's record (`commit_key`), so that a commit costs one look-up in
    each mapping. ``answers``: how late commits may be. ``reads``: the queries about the last records that departed
    members read.
    """

    def __init__(self) -> None:
        """Start without commits."""
        self.answers = SlowAnswers()
        self.reads = ReadTimes()
        self._last = LastCommits()
        self._awaited: dict[bytes, _Awaited] = {}
        self._now_ms = self._checked_ms = 0
        # The awaited keys of each group, without duplicates; lists, since a set of twenty takes 2 KB.
        self._keys: dict[bytes, list[bytes]] = {}

    def update(self, commits: Mapping[bytes, Commit | None]) -> None:
        """Process the last commits by record key, in the order of the records; None: the commits were deleted."""
        self._last.update(commits, self._now_ms)
        came: list[bytes] = []
        for key in filter(self._awaited.__contains__, commits):
            commit = commits[key]
            if commit is not None and commit[0] >= self._awaited[key].after_ms:
                self._first(key, commit[0])
                came.append(key)
        self._forget_keys(came)

    def _first(self, key: bytes, at_ms: int) -> None:
        awaited = self._awaited.pop(key)
        awaited.first.take(awaited.partition, at_ms)
        for first in awaited.earlier:
            first.later_ms[awaited.partition] = at_ms

    def _forget_keys(self, dropped: Iterable[bytes]) -> None:
        """Remove keys that are no longer awaited from the keys of their groups.

        Each call reads all keys of a group, so drop many keys at once.
        """
        for name in set(map(group_of_key, dropped)):
            keys = [key for key in self._keys.pop(name) if key in self._awaited]
            if keys:
                self._keys[name] = keys

    def expect(self, name: str, partitions: Collection[Partition], after_ms: int, first: FirstCommits) -> None:
        """Await, into ``first``, the first commit of each of the group's ``partitions`` from ``after_ms`` on.

        Call it when the record that assigns the partitions is read, after all commits that precede the record in the
        log.
        """
        if len(name.encode()) > NAME_BYTES_MAX:
            return
        first.await_anew(partitions)
        all_awaited = self._awaited
        keys = self._keys.setdefault(name.encode(), [])
        for partition, key in zip(partitions, commit_keys(name, partitions), strict=True):
            before = all_awaited.get(key)
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
            else:
                keys.append(key)
            all_awaited[key] = _Awaited(after_ms, partition, first, earlier)
        if not keys:
            del self._keys[name.encode()]
        if len(all_awaited) > AWAITED_MAX:
            self._make_room()

    def release(self, name: str, partitions: Iterable[Partition], at_ms: int) -> None:
        """Record that the owners had to give up these ``partitions`` of the group no earlier than ``at_ms``.

        If a partition's first commit is still awaited, later commits of its owner's other partitions do not show that
        it was consumed.
        """
        released = list(partitions)
        for partition, key in zip(released, commit_keys(name, released), strict=True):
            if awaited := self._awaited.get(key):
                awaited.first.released_ms.setdefault(partition, at_ms)

    def pass_time(self, now_ms: int) -> None:
        """Note the observer's time; from time to time, stop awaiting commits that are overdue.

        Records' times do not count here: a record with a wrong time would affect all groups.
        """
        self._now_ms = now_ms
        if abs(now_ms - self._checked_ms) < AWAITED_MAX_MS:
            return
        self._checked_ms = now_ms
        self._drop_awaited(
            [key for key, awaited in self._awaited.items() if now_ms - awaited.after_ms > AWAITED_MAX_MS]
        )

    def _make_room(self) -> None:
        """Stop awaiting the excess and a tenth more, because this requires a look at all groups: first the largest."""
        excess = len(self._awaited) - AWAITED_MAX + AWAITED_MAX // 10
        largest = sorted(self._keys.values(), key=len, reverse=True)
        self._drop_awaited(list(itertools.islice(itertools.chain.from_iterable(largest), excess)))

    def _drop_awaited(self, keys: Collection[bytes]) -> None:
        for key in keys:
            del self._awaited[key]
        self._forget_keys(keys)

    def name_topics(self, name: str, topic_name: Callable[[str], str]) -> None:
        """Await the group's commits by topic name for topics of which only the id was known.

        ``topic_name`` returns the name for an id. Commits that came in the meantime count.
        """
        awaited = {key: self._awaited[key] for key in self._keys.get(name.encode(), ())}
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
            return  # it belongs to a later assignment
        self._keys.setdefault(name.encode(), []).append(key)
        self._awaited[key] = waiting
        if last := self._last.get(key):
            last_ms, _, before_ms, _ = last
            if last_ms > waiting.after_ms:
                self._first(key, before_ms if before_ms > waiting.after_ms else last_ms)

    def forget(self, name: str) -> None:
        """Drop the commits of a group that is gone or owned by another observer."""
        self._last.forget(name.encode())
        for key in self._keys.pop(name.encode(), ()):
            self._awaited.pop(key, None)

    def awaited(self, name: str) -> int:
        """Return the number of the group's partitions whose first commit is awaited."""
        return len(self._keys.get(name.encode(), ()))

    def span_ms(self, name: str) -> int:
        """Return the milliseconds from the group's first commit that was seen to its last; 0 without commits."""
        return self._last.span_ms(name.encode())

    def worked_ms(self, name: str, partitions: Collection[Partition], after_ms: int, until_ms: int) -> int | None:
        """Return the time until which the owner of these partitions certainly worked (epoch ms); None if unknown.

        Only commits in (``after_ms``, ``until_ms``] count. A partition with a commit after ``until_ms`` already has
        another owner; its earlier commits are unknown.
        """
        work_ms = max((work_ms for at_ms, _, _, work_ms in self._of(name, partitions) if at_ms <= until_ms), default=-1)
        worked_ms = self.answers.taken_ms(work_ms)
        return worked_ms if worked_ms > after_ms else None

    def ask_reads(self, name: str, partitions: Collection[Partition], worked_ms: int, until_ms: int) -> ReadTime:
        """Query when the last records that the owner of all these partitions read until ``until_ms`` were appended.

        The owner worked at least until ``worked_ms``: commits soon after that need no query.
        """
        last = []
        for partition, key in zip(partitions, commit_keys(name, partitions), strict=True):
            commit = self._last.get(key)
            if commit and worked_ms + READS_WORTH_MS < commit[0] <= until_ms:
                last.append((commit, partition))
        time = ReadTime()
        for (at_ms, offset, _, _), partition in heapq.nlargest(READS_ASKED, last):
            self.reads.ask(ReadQuestion(partition, offset, worked_ms, at_ms), time)
        return time

    def recent(
        self, name: str, partitions: Collection[Partition], after_ms: int, until_ms: int
    ) -> RecentCommits | None:
        """Return the last commits of the owner of all these partitions from ``after_ms`` to ``until_ms``, if any."""
        commits = self._of(name, partitions)
        own = [(at_ms, before_ms) for at_ms, _, before_ms, _ in commits if after_ms <= at_ms <= until_ms]
        if not own:
            return None
        last_ms, before_ms = max(own)
        return RecentCommits(last_ms, last_ms - before_ms if before_ms >= after_ms else None)

    def _of(self, name: str, partitions: Collection[Partition]) -> Iterator[LastCommit]:
        """Yield the last commit of each of the group's ``partitions`` that has a commit."""
        return self._last.of_group(name.encode(), commit_keys(name, partitions))
