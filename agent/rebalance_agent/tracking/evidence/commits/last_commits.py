"""Keeps the last commit of each group's partitions in little memory, as evidence of the owner's work.

A cluster's groups have hundreds of thousands of partitions and commit thousands of times a second. So the values of
neighbouring partitions are packed into one block, instead of being stored under one key per partition.

The memory is bounded for all groups together, and any group may commit for many partitions. So a new commit is never
refused because of other groups' commits: groups that no longer commit lose theirs first, then the groups with the most.
"""

from __future__ import annotations

import itertools
import struct
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping

from rebalance_agent.groupprotocol.commit_key import group_of_key

__all__ = ["GROUPS_MAX", "IDLE_MS", "PARTITIONS_MAX", "Commit", "LastCommit", "LastCommits"]

PARTITIONS_MAX = 100_000
"""Maximum number of partitions whose commits are kept. They take 4 MB in topics with many partitions, and 25 MB if each
topic has one partition."""

GROUPS_MAX = 50_000
"""Maximum number of groups whose commits are kept. It includes groups that have no partitions left here: the time for
which they have committed is still known."""

KEPT = 0.8
"""The share of each maximum to which the number is reduced when it is reached. Many are removed at once, because this
requires a look at all groups."""

IDLE_MS = 300_000
"""A group without a commit for this long (ms) loses its commits before other groups do."""

NAME_BYTES_MAX = 249
"""Longest group name in bytes (Kafka's limit for topics). Commits of groups with longer names are not kept, since the
name is in the key of each block."""

KEY_BYTES_MAX = 2 * NAME_BYTES_MAX + 10
"""Longest key of a commit in bytes: the names of the group and the topic, the lengths of both names, a version and a
partition number."""

Commit = tuple[int, int]
"""An offset commit of one partition: the record's timestamp (epoch ms) and the offset. It is a plain tuple, since the
offsets topic gets thousands of commits a second."""

LastCommit = tuple[int, int, int, int]
"""The commit's time and offset, the time of the commit before, and the time of the last commit whose offset the owner
determined while it certainly worked (epoch ms; -1 if unknown). It is a plain tuple, since each of thousands of commits
a second creates one."""

_ROW = struct.Struct("=qqqqB")
"""A `LastCommit`, and the last byte of the partition number."""

_ROW_BYTES = _ROW.size
_unpack, _pack = _ROW.unpack_from, struct.Struct("=qqqq").pack_into
_NO_BLOCK = bytearray()


class _Group(list[bytes]):
    """The names of a group's blocks, the sum of their rows, and the time of the group's first commit (epoch ms).

    ``last_ms``: the last commit among the rows that were removed for other groups; 0 if there are none. It is a list,
    since an object with a list takes half as much again.
    """

    __slots__ = ("first_ms", "last_ms", "rows")

    def __init__(self, name: bytes, first_ms: int) -> None:
        """Start with the name of one block, which has no rows yet."""
        super().__init__((name,))
        self.first_ms = first_ms
        self.rows = self.last_ms = 0


class LastCommits:
    """The `LastCommit` of each partition, by the key of the commit's record.

    A key ends with the partition number, big-endian. The keys in a block (up to 256 partitions) differ in their last
    byte. A block has one row for each partition with a commit, sorted by this byte: if all partitions have commits, the
    byte is the index of the row.
    """

    def __init__(self) -> None:
        """Start without commits."""
        self._blocks: dict[bytes, bytearray] = {}
        self._groups: dict[bytes, _Group] = {}
        self._rows = 0
        self._share = PARTITIONS_MAX  # maximum rows of one group

    def get(self, key: bytes) -> LastCommit | None:
        """Return the partition's last commit; None if none is kept."""
        block = self._blocks.get(key[:-1], _NO_BLOCK)
        begin = _find(block, key[-1])
        return _unpack(block, begin)[:4] if begin >= 0 else None

    def of_group(self, group: bytes, keys: Iterable[bytes]) -> Iterator[LastCommit]:
        """Yield the last commit for each of the group's ``keys`` that has a commit."""
        return filter(None, map(self.get, keys)) if group in self._groups else iter(())

    def span_ms(self, group: bytes) -> int:
        """Return the milliseconds from the group's first commit since the group is known to its last; 0 if unknown."""
        known = self._groups.get(group)
        return max(0, self._last_ms(known) - known.first_ms) if known is not None else 0

    def _last_ms(self, group: _Group) -> int:
        kept_ms: Iterator[int] = (row[0] for name in group for row in _ROW.iter_unpack(self._blocks[name]))
        return max(itertools.chain((group.last_ms,), kept_ms))

    def update(self, commits: Mapping[bytes, Commit | None], now_ms: int) -> None:
        """Keep these commits (record key -> commit; None: deleted) unless the stored commit is at least as late.

        ``now_ms``: the observer's time.
        """
        blocks = self._blocks
        for key, commit in commits.items():
            if commit is None:
                self._delete(key)
                continue
            block, number = blocks.get(key[:-1], _NO_BLOCK), key[-1]
            begin, found = number * _ROW_BYTES, -1
            if begin < len(block):
                last_ms, last_offset, before_ms, _, found = _unpack(block, begin)
            if found != number:
                begin = _find(block, number)
                if begin < 0:
                    self._add(key, commit, now_ms)
                    continue
                last_ms, last_offset, before_ms, _, _ = _unpack(block, begin)
            at_ms, offset = commit
            if at_ms > last_ms:
                # If the offset is the same, the owner may be in its revoked callback, and may have been in it at the
                # previous commit.
                work_ms = last_ms if offset > last_offset else before_ms
                _pack(block, begin, at_ms, offset, last_ms, work_ms)

    def _add(self, key: bytes, commit: Commit, now_ms: int) -> None:
        """Keep the first commit of a partition, unless its group already has its share of rows."""
        at_ms, offset = commit
        if len(key) > KEY_BYTES_MAX or at_ms < 0:
            return
        name, group_name = key[:-1], group_of_key(key)
        group = self._groups.get(group_name)
        if group is not None and group.rows >= self._share:
            return
        if self._rows >= PARTITIONS_MAX or (group is None and len(self._groups) >= GROUPS_MAX):
            self._make_room(now_ms)
            self._add(key, commit, now_ms)  # once: now there is room, or the group has its share
            return
        block = self._blocks.get(name, _NO_BLOCK)
        if group is None:
            group = self._groups[group_name] = _Group(name, at_ms)
        elif not block:
            group.append(name)
        at = bisect(_numbers(block), key[-1]) * _ROW_BYTES
        # A new object has exactly the size that it needs, unlike one that grows.
        row = _ROW.pack(at_ms, offset, -1, -1, key[-1])
        self._blocks[name] = bytearray(b"".join((block[:at], row, block[at:])))
        group.rows += 1
        self._rows += 1

    def _make_room(self, now_ms: int) -> None:
        """Remove rows, and groups if there are too many: first those without a commit for the longest time.

        If this is not enough, the groups with the most rows lose some. Then no group gets more than these have left,
        until a group is gone.
        """
        last_ms = {name: self._last_ms(group) for name, group in self._groups.items()}
        oldest = sorted(last_ms, key=last_ms.__getitem__)
        if len(oldest) >= GROUPS_MAX:
            for name in oldest[: -int(KEPT * GROUPS_MAX)]:
                self.forget(name)
            oldest = oldest[-int(KEPT * GROUPS_MAX) :]
        room = int(KEPT * PARTITIONS_MAX)
        for name in oldest:
            if self._rows <= room or last_ms[name] > now_ms - IDLE_MS:
                break
            self._shorten(self._groups[name], 0)
        if self._rows <= room:
            return
        groups = sorted((group for group in self._groups.values() if group.rows), key=lambda group: group.rows)
        for index, group in enumerate(groups):
            self._share = room // (len(groups) - index)
            self._shorten(group, self._share)
            room -= group.rows

    def _shorten(self, group: _Group, rows_max: int) -> None:
        """Remove rows until the group has at most ``rows_max``. The time for which it has committed remains known."""
        if group.rows <= rows_max:
            return
        group.last_ms = self._last_ms(group)
        while group.rows > rows_max:
            block = self._blocks[group[-1]]
            rows = len(block) // _ROW_BYTES
            kept = max(0, rows - (group.rows - rows_max))
            if kept:
                self._blocks[group[-1]] = block[: kept * _ROW_BYTES]
            else:
                del self._blocks[group.pop()]
            group.rows -= rows - kept
            self._rows -= rows - kept

    def _delete(self, key: bytes) -> None:
        """Drop the commit of a partition, and its group if this was its last."""
        name = key[:-1]
        block = self._blocks.get(name, _NO_BLOCK)
        begin = _find(block, key[-1])
        if begin < 0:
            return
        group = self._groups[group_name := group_of_key(key)]
        del block[begin : begin + _ROW_BYTES]
        group.rows -= 1
        self._rows -= 1
        if not block:
            del self._blocks[name]
            group.remove(name)
        if not group.rows:
            self.forget(group_name)

    def forget(self, group: bytes) -> None:
        """Drop all commits of a group."""
        known = self._groups.pop(group, None)
        if known is None:
            return
        self._rows -= known.rows
        self._share = PARTITIONS_MAX
        for name in known:
            del self._blocks[name]


def _find(block: bytearray, number: int) -> int:
    """Return the position of a partition's row in its block; -1 if there is none."""
    index = _numbers(block).find(number)
    return index * _ROW_BYTES if index >= 0 else -1


def _numbers(block: bytearray) -> bytearray:
    return block[_ROW_BYTES - 1 :: _ROW_BYTES]
