"""Keeps the last commit of each group's partitions in little memory, as evidence of the owner's work.

A cluster's groups have hundreds of thousands of partitions and commit thousands of times a second. So the values of
neighbouring partitions are packed into one block, instead of being stored under one key per partition.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from rebalance_agent.groupprotocol.commit_key import group_of_key

__all__ = ["PARTITIONS_MAX", "Commit", "LastCommit", "LastCommits"]

PARTITIONS_MAX = 100_000
"""Maximum number of partitions whose commits are kept, including gaps between them. They take 4 MB in topics with many
partitions, and 30 MB if each topic has one partition."""

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

_ROW = struct.Struct("=qqqq")
_ROW_BYTES = _ROW.size
_NO_COMMIT: LastCommit = (-1, -1, -1, -1)
_EMPTY_ROW = _ROW.pack(*_NO_COMMIT)


class LastCommits:
    """The `LastCommit` of each partition, by the key of the commit's record.

    A key ends with the partition number, big-endian. The keys in a block (up to 256 partitions) differ in their last
    byte.
    """

    def __init__(self) -> None:
        """Start without commits."""
        self._blocks: dict[bytes, bytearray] = {}
        self._of_group: dict[bytes, list[bytes]] = {}
        self._since: dict[bytes, int] = {}
        self._rows = 0

    def get(self, key: bytes) -> LastCommit | None:
        """Return the partition's last commit; None if none is kept."""
        block, begin = self._blocks.get(key[:-1]), key[-1] * _ROW_BYTES
        if block is None or begin >= len(block):
            return None
        commit = _ROW.unpack_from(block, begin)
        return commit if commit[0] >= 0 else None

    def of_group(self, group: bytes, keys: Iterable[bytes]) -> Iterator[LastCommit]:
        """Yield the last commit for each of the group's ``keys`` that has a commit."""
        return filter(None, map(self.get, keys)) if group in self._of_group else iter(())

    def span_ms(self, group: bytes) -> int:
        """Return the milliseconds from the group's first commit since any are kept to its last; 0 if none is kept."""
        names = self._of_group.get(group, ())
        last = max((row[0] for name in names for row in _ROW.iter_unpack(self._blocks[name])), default=0)
        return max(0, last - self._since[group]) if names else 0

    def update(self, commits: Mapping[bytes, Commit | None]) -> None:
        """Keep these commits (record key -> commit; None: deleted) unless the stored commit is at least as late.

        The commit of a new partition is kept while there is room.
        """
        blocks = self._blocks
        for key, commit in commits.items():
            if commit is None:
                self._delete(key)
                continue
            block, begin = blocks.get(key[:-1]), key[-1] * _ROW_BYTES
            if block is None or begin >= len(block):
                block = self._longer_block(key, commit[0])
                if block is None:
                    continue
            at_ms, offset = commit
            last_ms, last_offset, before_ms, _ = _ROW.unpack_from(block, begin)
            if at_ms > last_ms:
                # If the offset is the same, the owner may be in its revoked callback, and may have been in it at the
                # previous commit.
                work_ms = last_ms if offset > last_offset else before_ms
                _ROW.pack_into(block, begin, at_ms, offset, last_ms, work_ms)

    def _delete(self, key: bytes) -> None:
        """Drop the commit of a partition, and its block if it becomes empty."""
        if self.get(key) is None:
            return
        name, group = key[:-1], group_of_key(key)
        block = self._blocks[name]
        _ROW.pack_into(block, key[-1] * _ROW_BYTES, *_NO_COMMIT)
        rows = len(block) // _ROW_BYTES
        if block == _EMPTY_ROW * rows:
            del self._blocks[name]
            self._rows -= rows
            self._of_group[group].remove(name)
            if not self._of_group[group]:
                del self._of_group[group], self._since[group]

    def forget(self, group: bytes) -> None:
        """Drop all commits of a group."""
        self._since.pop(group, None)
        for name in self._of_group.pop(group, ()):
            self._rows -= len(self._blocks.pop(name)) // _ROW_BYTES

    def _longer_block(self, key: bytes, at_ms: int) -> bytearray | None:
        """Return the key's block, created or extended to contain its row; None if there are too many rows.

        ``at_ms``: the time of the commit.
        """
        name, block = key[:-1], self._blocks.get(key[:-1], bytearray())
        rows = key[-1] + 1 - len(block) // _ROW_BYTES
        if len(key) > KEY_BYTES_MAX or self._rows + rows > PARTITIONS_MAX:
            return None
        if name not in self._blocks:
            self._blocks[name] = block
            self._of_group.setdefault(group := group_of_key(key), []).append(name)
            self._since.setdefault(group, at_ms)
        block += _EMPTY_ROW * rows
        self._rows += rows
        return block
